#include "scenarios/hunt/exhaustive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;
using Kind = Deviation::Kind;

/// The hexadecimal digits of a request: a query byte, then a text.
std::string request(const std::string& head, const std::string& key) {
  std::string out = head;
  char byte[3];
  std::snprintf(byte, sizeof byte, "%02zx", key.size());
  out += byte + std::string("00000000000000");
  for (const char c : key) {
    std::snprintf(byte, sizeof byte, "%02x", c);
    out += byte;
  }
  return out;
}

TEST(StoreRequests, AreToldByTheirBytes) {
  const StoreRequest get = read_request(request("03", "state"));
  EXPECT_FALSE(get.writes);
  EXPECT_EQ(get.key, "state");
  EXPECT_TRUE(read_request(request("02", "state")).writes);
  EXPECT_TRUE(read_request(request("04", "counter")).writes);
  const StoreRequest check = read_request(request("050100000000000000", "state"));
  EXPECT_FALSE(check.writes);
  EXPECT_EQ(check.key, "state");
  EXPECT_TRUE(read_request("").writes);
  EXPECT_EQ(read_request("505554202f").key.substr(0, 1), "") << "HTTP: a write of everything";
}

TEST(StoreRequests, CommuteUnlessOneWritesWhatTheOtherNames) {
  const StoreRequest read{false, "a"};
  const StoreRequest write{true, "a"};
  const StoreRequest elsewhere{true, "b"};
  const StoreRequest everything{true, ""};
  EXPECT_TRUE(commute(read, read));
  EXPECT_FALSE(commute(read, write));
  EXPECT_FALSE(commute(write, write));
  EXPECT_TRUE(commute(write, elsewhere));
  EXPECT_FALSE(commute(read, everything));
}

class Exhaustive : public testing::Test {
 protected:
  static Scenario two_agents() {
    return scenario::load_scenario(R"({"version": 1, "name": "two", "time_limit": "60s",
        "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 2,
                                    "timeouts": {"join": "30s", "last_call": "1s"}},
                     "agent": {"exit_barrier_timeout": "10s", "monitor_interval": "1s"}},
        "cluster": {"nodes": [{"id": "a..b"}], "store_host": "external",
                    "network": {"latency": {"median": "1ms", "p99": "1ms"}}},
        "workers": {"program": [{"run": "1s"}, {"exit": 0}]}})",
                                   "two");
  }
  Leaf play(const Branch& branch, const Bounds& bounds = {}) {
    return hunt::play(kernel, root, branch, bounds, invariants);
  }
  kernel::Kernel kernel;
  properties::InvariantRegistry invariants = properties::InvariantRegistry::with_builtins();
  Scenario root = two_agents();
};

TEST_F(Exhaustive, TheQuietRunIsTheRootAndEveryDeviationOfItCanBePlayed) {
  const Leaf quiet = play({});
  EXPECT_TRUE(quiet.result.kinds.empty());
  ASSERT_FALSE(quiet.next.empty());
  std::set<Kind> kinds;
  std::set<std::uint64_t> orders{quiet.order};
  for (const Deviation& deviation : quiet.next) {
    kinds.insert(deviation.kind);
    const Scenario world = world_of(root, {deviation});
    ASSERT_EQ(scenario::load_scenario(scenario::write_scenario(world), "world"), world);
    orders.insert(play({deviation}).order);
  }
  EXPECT_EQ(kinds.size(), 3U);
  // Holding a request behind one that does not commute gives another class, nearly always: it may
  // have nothing to wait for when its client is about to end.
  EXPECT_GT(orders.size(), quiet.next.size() * 3 / 4);
}

TEST_F(Exhaustive, ABranchIsTheSameRunEachTime) {
  const Leaf quiet = play({});
  for (std::size_t i = 0; i < quiet.next.size(); i += 5) {
    Leaf once = play({quiet.next[i]});
    Leaf again = play({quiet.next[i]});
    once.result.wall = again.result.wall = {};
    EXPECT_EQ(write_leaf(once), write_leaf(again));
  }
}

TEST_F(Exhaustive, HeldRequestsChangePlacesAndNothingIsLost) {
  for (const Deviation& deviation : play({}).next) {
    if (deviation.kind != Kind::hold) continue;
    EXPECT_GE(deviation.behind, 1U);
    const Leaf held = play({deviation});
    EXPECT_TRUE(held.result.kinds.empty())
        << write_leaf(held) << "\nan order may not break anything";
  }
}

TEST_F(Exhaustive, LaterDeviationsComeLaterAndTheBoundsHold) {
  Branch branch;
  Bounds bounds;
  bounds.deviations = 3;
  bounds.crashes = 1;
  bounds.partitions = 0;
  for (std::int64_t depth = 0; depth < bounds.deviations; ++depth) {
    const Leaf leaf = play(branch, bounds);
    ASSERT_FALSE(leaf.next.empty());
    for (const Deviation& next : leaf.next) {
      EXPECT_NE(next.kind, Kind::partition);
      if (!branch.empty()) {
        EXPECT_GT(next.place, branch.back().place);
      }
      if (depth > 0) {
        EXPECT_NE(next.kind, Kind::crash) << "the first one was the only one";
      }
    }
    const auto crash = std::find_if(leaf.next.begin(), leaf.next.end(),
                                    [](const Deviation& each) { return each.kind == Kind::crash; });
    branch.push_back(depth == 0 ? *crash : leaf.next.front());
  }
  EXPECT_TRUE(play(branch, bounds).next.empty());
}

TEST_F(Exhaustive, ALeafIsReadBackAsItWasWritten) {
  const std::string line = write_leaf(play({}));
  EXPECT_EQ(write_leaf(load_leaf(line, "x")), line);
}

}  // namespace
}  // namespace hooke::hunt
