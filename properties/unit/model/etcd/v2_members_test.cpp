// How often, of which member and for how long something is asked for.
#include "model/etcd/v2_members.h"

#include <gtest/gtest.h>

#include "model/etcd/errors.h"
#include "model/etcd/v2_client.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/hardened/etcd/prompt_members.h"
#include "model/http/http_service.h"
#include "model/observe/python_error.h"
#include "model/store/short_timeout.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;

constexpr sim::Duration kReadTimeout = 10s;
const HttpRequest kMachines{"GET", "/v2/machines", "", "", ""};
const HttpRequest kRead{"GET", "/v2/keys/k", "", "", ""};
const HttpRequest kWrite{"PUT", "/v2/keys/k", "value=v", "application/x-www-form-urlencoded", ""};

/// A member that names the members of `machines` and answers, or is frozen and does neither.
class Member {
 public:
  Member(Ports& ports, std::uint16_t port, std::string machines)
      : machines_(std::move(machines)),
        service_(ports, sim::PortNumber{port},
                 [this](const std::shared_ptr<HttpExchange>& exchange) { hear(exchange); }) {}

  bool frozen = false;
  bool stops_after_head = false;
  std::size_t keys_asked = 0;

 private:
  void hear(const std::shared_ptr<HttpExchange>& exchange) {
    const bool asks_members = exchange->query().path == "/v2/machines";
    if (!asks_members) ++keys_asked;
    unanswered_.push_back(exchange);
    if (frozen) return;
    if (stops_after_head && !asks_members) return exchange->begin(200);
    exchange->answer(200, asks_members ? machines_ : "{}");
  }

  std::string machines_;
  std::vector<std::shared_ptr<HttpExchange>> unanswered_;
  HttpService service_;
};

void with_members(const std::function<void(Ports&)>& body) {
  bool done = false;
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](Ports& ports) {
    body(ports);
    done = true;
    return 0;
  });
  world.run_for(std::chrono::hours(1));
  EXPECT_TRUE(done);
}

HttpServer at(std::uint16_t port) {
  return {{"n", sim::PortNumber{port}}, std::nullopt};
}

/// For how many whole read time-outs `call` waits before it throws EtcdConnectionError.
std::int64_t time_outs(Ports& ports, bool outcome_unknown, const std::function<void()>& call) {
  const sim::MonotonicTime begin = ports.clock.monotonic_now();
  try {
    call();
    ADD_FAILURE() << "it has come to an answer";
  } catch (const EtcdConnectionError& error) {
    EXPECT_EQ(error.outcome_unknown(), outcome_unknown) << error.what();
  }
  return (ports.clock.monotonic_now() - begin) / kReadTimeout;
}

TEST(PythonEtcdMembers, wait_for_a_frozen_one_four_times_and_repeat_writes) {
  with_members([](Ports& ports) {
    Member only(ports, 1, "http://n:1");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    only.frozen = true;
    EXPECT_EQ(time_outs(ports, true, [&] { members->exchange(kWrite, kReadTimeout); }), 4);
    EXPECT_EQ(only.keys_asked, 4U);
    only.frozen = false;
    EXPECT_FALSE(members->exchange(kWrite, kReadTimeout).in_doubt);
  });
}

TEST(PythonEtcdMembers, tell_that_an_answer_came_after_one_that_did_not) {
  with_members([](Ports& ports) {
    Member only(ports, 1, "http://n:1");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    only.frozen = true;
    ports.executor.spawn("thaw", [&] {
      ports.executor.sleep_until(world::in(ports, 15s));
      only.frozen = false;
    });
    EXPECT_TRUE(members->exchange(kWrite, kReadTimeout).in_doubt);
    EXPECT_EQ(only.keys_asked, 3U);
  });
}

TEST(PythonEtcdMembers, do_not_ask_again_once_the_head_of_an_answer_has_come) {
  with_members([](Ports& ports) {
    Member only(ports, 1, "http://n:1");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    only.stops_after_head = true;
    EXPECT_EQ(time_outs(ports, true, [&] { members->exchange(kWrite, kReadTimeout); }), 1);
    EXPECT_EQ(only.keys_asked, 1U);
  });
}

TEST(PythonEtcdMembers, are_asked_one_after_the_other_and_named_anew_by_each) {
  with_members([](Ports& ports) {
    Member one(ports, 1, "http://n:1, http://n:2"), other(ports, 2, "http://n:1, http://n:2");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    one.frozen = true;
    EXPECT_TRUE(members->exchange(kWrite, kReadTimeout).in_doubt);
    EXPECT_EQ(one.keys_asked, 4U);
    EXPECT_EQ(other.keys_asked, 1U);
    one.frozen = false;
    other.frozen = true;
    // The one that was left is on the list again, and is silent about nothing.
    EXPECT_TRUE(members->exchange(kWrite, kReadTimeout).in_doubt);
    EXPECT_EQ(one.keys_asked, 5U);
    one.frozen = true;
    EXPECT_EQ(time_outs(ports, true, [&] { members->exchange(kWrite, kReadTimeout); }), 8)
        << "four for the write, and four for the other one's list of members";
  });
}

TEST(PythonEtcdMembers, raise_what_python_raises_where_one_does_not_name_itself) {
  with_members([](Ports& ports) {
    Member one(ports, 1, "http://n:1,http://n:2"), other(ports, 2, "http://n:1");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    one.frozen = true;
    try {
      members->exchange(kRead, kReadTimeout);
      ADD_FAILURE();
    } catch (const EscapedPythonError& error) {
      EXPECT_STREQ(error.class_name(), "ValueError");
    }
  });
}

TEST(PythonEtcdMembers, tell_a_watch_without_a_change_from_one_without_an_answer) {
  with_members([](Ports& ports) {
    Member only(ports, 1, "http://n:1");
    const auto members = make_python_etcd_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    only.stops_after_head = true;
    EXPECT_FALSE(members->watch(kRead, world::in(ports, kReadTimeout)));
    only.frozen = true;
    EXPECT_EQ(
        time_outs(ports, true, [&] { members->watch(kRead, world::in(ports, kReadTimeout)); }), 4);
  });
}

TEST(PromptMembers, have_one_read_timeout_for_a_request_and_repeat_no_write) {
  with_members([](Ports& ports) {
    Member one(ports, 1, "http://n:1,http://n:2"), other(ports, 2, "http://n:1,http://n:2");
    const auto members = make_prompt_members(ports, at(1));
    members->learn(kMachines, kReadTimeout);
    one.frozen = true;
    EXPECT_EQ(time_outs(ports, true, [&] { members->exchange(kWrite, kReadTimeout); }), 1);
    EXPECT_EQ(one.keys_asked + other.keys_asked, 1U);
  });
}

/// As it is by an agent that is told to go.
TEST(HardenedEtcdV2Store, repeats_no_write_to_a_frozen_one_when_the_time_is_over) {
  with_members([](Ports& ports) {
    Member only(ports, 1, "http://n:1");
    EtcdOptions options{at(1), "", "", kReadTimeout};
    options.v2_members = &make_prompt_members;
    const auto store = make_hardened_etcd_v2_store(
        ports, std::make_shared<EtcdV2Client>(ports, options), "/prefix");
    only.frozen = true;
    const auto time_outs_of_a_write = [&] {
      const sim::MonotonicTime begin = ports.clock.monotonic_now();
      EXPECT_THROW(store->set("k", sim::Value("v")), StoreNetworkError);
      return (ports.clock.monotonic_now() - begin) / kReadTimeout;
    };
    EXPECT_EQ(time_outs_of_a_write(), 3) << "twice, and a look at what stands there";
    const ShortTimeout brief(*store, 2s);
    EXPECT_EQ(time_outs_of_a_write(), 1);
  });
}

}  // namespace
}  // namespace hooke::model
