// Endpoints as people write them, and which node takes itself for the host.
#include "model/rendezvous/core/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "model/hardened/core/hardened_endpoint.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using sim::Ports;
using world::Fault;
using world::FaultKind;

void expect_endpoint(const std::string& text, const std::string& host, std::uint16_t port) {
  const sim::Endpoint endpoint = parse_endpoint(text, 29'400);
  EXPECT_EQ(endpoint.host, host) << text;
  EXPECT_EQ(endpoint.port.value, port) << text;
}

TEST(Endpoint, is_a_host_with_or_without_port) {
  expect_endpoint("", "localhost", 29'400);
  expect_endpoint("  ", "localhost", 29'400);
  expect_endpoint(" node-1.example ", "node-1.example", 29'400);
  expect_endpoint("node-1:1234", "node-1", 1234);
  expect_endpoint("10.0.0.1:0", "10.0.0.1", 0);
  expect_endpoint("[fe80::1]:1234", "fe80::1", 1234);
  expect_endpoint("[fe80::1]", "fe80::1", 29'400);
}

TEST(Endpoint, an_address_of_version_6_without_brackets_is_split_at_its_last_colon) {
  expect_endpoint("fe80::1:1234", "fe80::1", 1234);
  expect_endpoint("fe80::1", "fe80:", 1);
}

TEST(Endpoint, an_address_of_version_6_without_brackets_is_refused_where_hardened) {
  for (const char* text : {"fe80::1:1234", "fe80::1", "::1"}) {
    EXPECT_THROW(static_cast<void>(parse_unambiguous_endpoint(text, 29'400)), std::invalid_argument)
        << text;
  }
  for (const char* text : {"[fe80::1]:1234", "[fe80::1]", "node:1234", "node"}) {
    EXPECT_EQ(parse_unambiguous_endpoint(text, 29'400), parse_endpoint(text, 29'400));
  }
}

TEST(Endpoint, that_is_none_is_refused_with_the_text_and_what_is_wrong_with_it) {
  for (const char* text : {"node:", "node:x", "node:65536", "node:-1", "node:123456"}) {
    try {
      static_cast<void>(parse_endpoint(text, 29'400));
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string("\"") + text + "\""));
      EXPECT_THAT(error.what(), testing::HasSubstr("port number"));
    }
  }
  for (const char* text : {":1234", "a b:1234", "http://node:1234"}) {
    EXPECT_THROW(static_cast<void>(parse_endpoint(text, 29'400)), std::invalid_argument) << text;
  }
}

/// Whether node "a" takes `host` for itself; "b" is another node.
bool matches(const std::string& host, const std::function<void(world::TestWorld&)>& prepare,
             Variant variant = Variant::torch_2_x, const NameForm& form = as_written) {
  world::TestWorld test;
  const sim::NodeId a = test.node("a");
  test.node("b");
  prepare(test);
  bool result = false;
  test.start(a, "agent", [&](Ports& ports) {
    result = matches_this_machine(ports.network, host, variant, form);
    return 0;
  });
  test.run();
  return result;
}

TEST(HostMatching, knows_the_names_and_the_address_of_the_own_machine) {
  const auto nothing = [](world::TestWorld&) {};
  for (const char* host : {"a", "a.sim", "10.0.0.1"}) EXPECT_TRUE(matches(host, nothing)) << host;
  for (const char* host : {"b", "b.sim", "10.0.0.2", "c"}) {
    EXPECT_FALSE(matches(host, nothing)) << host;
  }
}

TEST(HostMatching, every_machine_is_the_localhost) {  // R-30, S-19: each hosts a store of its own
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(matches(host, [](world::TestWorld&) {})) << host;
  }
  for (const char* host : {"127.example", "127.0.0", "127.0.0.01", "::2"}) {
    EXPECT_FALSE(matches(host, [](world::TestWorld&) {})) << host;
  }
}

TEST(HostMatching, is_case_sensitive_where_names_are_not) {
  EXPECT_FALSE(matches("A", [](world::TestWorld&) {}));
}

TEST(HostMatching, ignores_the_case_of_letters_where_hardened) {
  EXPECT_TRUE(matches(
      "A", [](world::TestWorld&) {}, Variant::torch_2_x, in_lower_case));
}

TEST(HostMatching, follows_an_alias_by_its_address) {
  const auto alias = [](world::TestWorld& test) {
    test.inject(FaultKind::dns_alias, [&](Fault& fault) {
      fault.node = *test.world->find_node("a");
      fault.text = "store.example";
    });
  };
  EXPECT_TRUE(matches("store.example", alias));
  EXPECT_FALSE(matches("store.example", alias, Variant::torch_1_13));
  EXPECT_TRUE(matches("a", alias, Variant::torch_1_13));
  EXPECT_TRUE(matches("10.0.0.1", alias, Variant::torch_1_13));
}

TEST(HostMatching, no_agent_is_the_host_of_a_name_that_cannot_be_resolved) {
  EXPECT_FALSE(matches("store.example", [](world::TestWorld&) {}));
}

}  // namespace
}  // namespace hooke::model
