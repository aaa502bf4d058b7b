// The store in etcd's v2 keys, with the traps of PyTorch's EtcdStore.
#include "model/etcd/v2_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/observe/python_error.h"
#include "model/store/base64.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;

constexpr sim::PortNumber kPort{2379};

/// Runs `body` with a client of an etcd of its own.
void with_client(const std::function<void(Ports&, std::shared_ptr<EtcdV2Client>)>& body) {
  world::TestWorld world;
  world.start(world.node("s"), "server", [](Ports& ports) {
    EtcdV2Server server(ports, kPort);
    world::park_for_ever(ports);
    return 0;
  });
  bool done = false;
  world.start(world.node("a"), "client", [&](Ports& ports) {
    world::sleep(ports, 1s);
    EtcdOptions options;
    options.server.endpoint = {"s", kPort};
    body(ports, std::make_shared<EtcdV2Client>(ports, options));
    done = true;
    return 0;
  });
  world.run_for(10min);
  EXPECT_TRUE(done);
}

/// Runs `body` with a store under `prefix`.
void with_store(const std::string& prefix, const std::function<void(Ports&, Store&)>& body) {
  with_client([&](Ports& ports, std::shared_ptr<EtcdV2Client> client) {
    const auto store = make_etcd_v2_store(ports, std::move(client), prefix);
    store->set_timeout(5s);
    body(ports, *store);
  });
}

const std::string kSlashKey = "k\?\?>";  // az8/Pg==: a directory, where PyTorch never looks

TEST(EtcdV2Store, a_key_whose_code_contains_a_slash_is_never_found) {  // S-L1
  with_store("/prefix", [](Ports&, Store& store) {
    store.set(kSlashKey, Value(std::string("1")));
    EXPECT_FALSE(store.check({kSlashKey}));
    EXPECT_THROW(store.wait({kSlashKey}, 1s), EscapedPythonError);
  });
}

TEST(EtcdV2Store, waits_by_the_wall_clock) {  // S-L13
  world::TestWorld world;
  std::optional<sim::Duration> waited;
  world.start(world.node("s"), "server", [](Ports& ports) {
    EtcdV2Server server(ports, kPort);
    world::park_for_ever(ports);
    return 0;
  });
  const sim::NodeId a = world.node("a");
  world.start(a, "client", [&](Ports& ports) {
    world::sleep(ports, 1s);
    EtcdOptions options;
    options.server.endpoint = {"s", kPort};
    const auto store =
        make_etcd_v2_store(ports, std::make_shared<EtcdV2Client>(ports, options), "/prefix");
    const sim::MonotonicTime began = ports.clock.monotonic_now();
    EXPECT_THROW(store->wait({"key"}, 5s), EscapedPythonError);
    waited = ports.clock.monotonic_now() - began;
    return 0;
  });
  world.inject_at(3s, world::FaultKind::clock_jump, [a](world::Fault& fault) {
    fault.node = a;
    fault.span = -20s;
  });
  world.run_for(10min);
  ASSERT_TRUE(waited);
  EXPECT_GE(*waited, 25s);
}

TEST(EtcdV2Store, a_key_that_does_not_come_is_an_error_that_no_store_knows) {  // S-L16
  with_store("/prefix", [](Ports&, Store& store) {
    try {
      static_cast<void>(store.get("key"));
      ADD_FAILURE();
    } catch (const StoreError&) {
      ADD_FAILURE() << "this is what callers are prepared for";
    } catch (const EscapedPythonError& error) {
      EXPECT_STREQ(error.class_name(), "LookupError");
    }
  });
}

TEST(EtcdV2Store, nothing_is_found_under_a_prefix_without_its_slash) {  // S-L14
  with_store("prefix", [](Ports&, Store& store) {
    store.set("key", Value(std::string("1")));
    EXPECT_FALSE(store.check({"key"}));
  });
}

TEST(HardenedEtcdV2Store, sets_what_is_as_expected_and_tells_what_is_there_instead) {
  with_client([](Ports& ports, std::shared_ptr<EtcdV2Client> client) {
    const auto store = make_hardened_etcd_v2_store(ports, client, "/prefix");
    const Value none;
    const Value one(std::string("1"));
    const Value two(std::string("2"));
    EXPECT_EQ(store->compare_set("key", one, two), one) << "there is nothing to compare with";
    EXPECT_FALSE(store->check({"key"}));
    EXPECT_EQ(store->compare_set("key", none, one), one);
    EXPECT_EQ(store->compare_set("key", none, two), one) << "it is there already";
    EXPECT_EQ(store->compare_set("key", two, one), one);
    EXPECT_EQ(store->compare_set("key", one, two), two);
    EXPECT_EQ(store->get("key"), two);
  });
}

TEST(HardenedEtcdV2Store, a_key_whose_code_contains_a_slash_is_found_all_the_same) {
  with_client([](Ports& ports, std::shared_ptr<EtcdV2Client> client) {
    const auto store = make_hardened_etcd_v2_store(ports, client, "/prefix");
    store->set(kSlashKey, Value(std::string("1")));
    EXPECT_TRUE(store->check({kSlashKey}));
    EXPECT_EQ(store->get(kSlashKey).bytes(), "1");
  });
}

TEST(HardenedEtcdV2Store, fails_as_every_store_does) {
  with_client([](Ports& ports, std::shared_ptr<EtcdV2Client> client) {
    const auto store = make_hardened_etcd_v2_store(ports, client, "/prefix");
    client->put("/prefix/" + base64_encode(Value(std::string("key"))).bytes(), {.value = "A"});
    EXPECT_THROW(store->compare_set("key", Value(), Value(std::string("1"))), StoreError);
    store->set_timeout(1s);
    EXPECT_THROW(static_cast<void>(store->get("missing")), StoreError);
  });
}

}  // namespace
}  // namespace hooke::model
