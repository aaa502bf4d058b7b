// The requests of a worker's store on its trace.
#include "model/worker/traced_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/worker_store_events.h"
#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr sim::PortNumber kPort{29500};

/// Counts writes that come when the round of their worker is over.
class LateWrites final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override { count += events::is_late_write(event) ? 1 : 0; }
  int count = 0;
};

class TracedStoreTest : public testing::Test {
 protected:
  /// Runs `body` in a worker of rank 1 of round 0, over a server of its own; what is said of it,
  /// without the event's name, process and job.
  std::vector<std::string> told_of(const std::function<void(Store&)>& body) {
    world::EventLines lines;
    world_.trace.add_sink(lines);
    world_.trace.add_sink(late_);
    world_.start(world_.node("a"), "worker", [&](sim::Ports& ports) {
      const auto server = serve_tcp_store(ports, kPort, "workers");
      TcpStoreOptions target;
      target.endpoint = {"a", kPort};
      const auto round = [] { return std::int64_t{0}; };
      const auto store = make_traced_store(ports, {"job", 1, round, [this] { return newest_; }},
                                           connect_tcp_store(ports, target));
      body(*store);
      return 0;
    });
    world_.run_for(1min);
    std::vector<std::string> out;
    for (const std::string& line : lines.starting_with("worker.store_")) {
      const std::string kind = line.starts_with("worker.store_asked") ? "asked" : "answered";
      out.push_back(kind + line.substr(line.find(" rank=")));
    }
    return out;
  }

  world::TestWorld world_;
  LateWrites late_;
  std::int64_t newest_ = 0;
};

TEST_F(TracedStoreTest, tells_what_is_asked_and_what_came_of_it) {
  const auto told = told_of([](Store& store) {
    store.set("k", Value("v"));
    EXPECT_EQ(store.add("n", 2), 2);
    EXPECT_EQ(store.multi_get({"k", "n"}).size(), 2U);
    EXPECT_EQ(store.compare_set("k", Value("v"), Value(std::string(500, 'x'))).size(), 500U);
    EXPECT_FALSE(store.check({"missing"}));
  });
  const std::string mine = " rank=1 round=0 newest_round=0 operation=";
  EXPECT_THAT(
      told, ElementsAre("asked" + mine + "set key=k value=v",
                        StartsWith("answered" + mine + "set key=k result=ok took="),
                        "asked" + mine + "add key=n value=2",
                        StartsWith("answered" + mine + "add key=n result=2 took="),
                        "asked" + mine + "multi_get key=k n value=",
                        StartsWith("answered" + mine + "multi_get key=k n result=v | 2 took="),
                        "asked" + mine + "compare_set key=k value=v -> 500 bytes",
                        StartsWith("answered" + mine + "compare_set key=k result=500 bytes took="),
                        "asked" + mine + "check key=missing value=",
                        StartsWith("answered" + mine + "check key=missing result=false took=")));
  EXPECT_EQ(late_.count, 0);
}

TEST_F(TracedStoreTest, tells_of_errors_and_lets_them_through) {
  const auto told = told_of([](Store& store) {
    EXPECT_THROW(store.wait({"missing"}, 1s), StoreTimeoutError);
    store.set("k", Value("no number"));
    EXPECT_THROW(store.add("k", 1), StoreError);
  });
  ASSERT_EQ(told.size(), 6U);
  EXPECT_THAT(told[1], HasSubstr("wait key=missing result=timed out took="));
  EXPECT_THAT(told[5], HasSubstr("add key=k result=failed: "));
}

TEST_F(TracedStoreTest, of_a_round_that_is_over_has_late_writes_and_reads_that_are_none) {
  const auto told = told_of([this](Store& store) {
    store.set("k", Value("v"));
    newest_ = 1;
    store.set("k", Value("late"));
    store.add("n", 1);
    store.add("n", 0);
    store.get("k");
    store.delete_key("k");
  });
  EXPECT_EQ(late_.count, 3) << "set, add of 1, delete_key";
  EXPECT_EQ(told[2], "asked rank=1 round=0 newest_round=1 operation=set key=k value=late");
}

}  // namespace
}  // namespace hooke::model
