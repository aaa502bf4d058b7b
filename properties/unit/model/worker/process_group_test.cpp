// The process group of a worker, from its beginning to its end, under an agent and by hand.
#include "model/worker/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/python_error.h"
#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Environment = std::map<std::string, std::string>;
using sim::Ports;
using testing::ElementsAre;
using testing::HasSubstr;

class ProcessGroupTest : public testing::Test {
 protected:
  /// A worker launched by hand, as rank `rank` of two.
  sim::Pid work(std::int64_t rank, const std::function<void(Ports&, ProcessGroup&)>& body,
                const Environment& more = {}) {
    const std::string name = "worker " + std::to_string(++programs_);
    world_.world->register_program(name, [=](Ports& ports) {
      ProcessGroup group(ports);
      body(ports, group);
      return 0;
    });
    Environment environment{{"RANK", std::to_string(rank)},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "a"},
                            {"MASTER_PORT", "29500"}};
    for (const auto& [key, value] : more) environment[key] = value;
    auto pid = world_.world->start(rank == 0 ? a_ : b_, {{name}, environment, true, {}, {}});
    return pid.value();
  }
  template <class Body>
  static std::string raised(Body&& body) {
    try {
      body();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  }

  world::TestWorld world_;
  sim::NodeId a_ = world_.node("a");
  sim::NodeId b_ = world_.node("b");
  int programs_ = 0;
};

TEST_F(ProcessGroupTest, knows_its_rank_from_init_to_destroy_and_not_before_or_after) {
  std::vector<std::string> said;
  work(0, [&](Ports&, ProcessGroup& group) {
    const auto ask = [&] {
      said.push_back(raised([&] {
        said.push_back(std::to_string(group.rank()) + " of " + std::to_string(group.world_size()) +
                       " over " + group.backend());
      }));
    };
    EXPECT_FALSE(group.is_initialized());
    ask();
    group.init({"GLOO"});
    EXPECT_TRUE(group.is_initialized());
    EXPECT_TRUE(group.serves());
    ask();
    group.destroy();
    group.destroy();
    EXPECT_FALSE(group.is_initialized());
    ask();
    EXPECT_THAT(raised([&] { static_cast<void>(group.backend()); }), HasSubstr("ValueError"));
    EXPECT_THAT(raised([&] { static_cast<void>(group.store()); }), HasSubstr("ValueError"));
  });
  world_.run();
  EXPECT_THAT(said, ElementsAre(HasSubstr("ValueError: there is no default process group"),
                                "0 of 2 over gloo", "nothing", HasSubstr("ValueError")));
}

TEST_F(ProcessGroupTest, begins_once_and_may_begin_again_after_its_end) {
  std::vector<std::string> said;
  work(0, [&](Ports&, ProcessGroup& group) {
    said.push_back(raised([&] { group.init({""}); }));
    group.init({});
    said.push_back(raised([&] { group.init({}); }));
    group.destroy();
    said.push_back(raised([&] { group.init({}); }));
  });
  world_.run();
  EXPECT_THAT(said, ElementsAre("ValueError: a backend must have a name",
                                "ValueError: there is a default process group already", "nothing"));
  EXPECT_EQ(world_.events.count("store.serving"), 2U);
  EXPECT_EQ(world_.events.count("store.stopped"), 2U);
}

TEST_F(ProcessGroupTest, of_workers_launched_by_hand_meets_at_the_store_of_rank_0) {
  std::vector<std::string> read;
  work(0, [&](Ports& ports, ProcessGroup& group) {
    group.init({});
    group.store()->set("key", Value(std::string("of rank 0")));
    world::sleep(ports, 5s);
  });
  work(1, [&](Ports&, ProcessGroup& group) {
    group.init({});
    EXPECT_FALSE(group.serves());
    EXPECT_FALSE(group.launch().elastic.has_value());
    read.push_back(group.store()->get("key").bytes());
  });
  world_.run();
  EXPECT_THAT(read, ElementsAre("of rank 0"));
}

TEST_F(ProcessGroupTest, under_an_agent_that_serves_the_store_no_worker_does) {
  const Environment elastic{{"TORCHELASTIC_RUN_ID", "job"},
                            {"LOCAL_RANK", "0"},
                            {"LOCAL_WORLD_SIZE", "1"},
                            {"GROUP_RANK", "0"},
                            {"GROUP_WORLD_SIZE", "2"},
                            {"ROLE_RANK", "0"},
                            {"ROLE_WORLD_SIZE", "2"},
                            {"ROLE_NAME", "default"},
                            {"TORCHELASTIC_RESTART_COUNT", "1"},
                            {"TORCHELASTIC_MAX_RESTARTS", "3"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                            {"TORCHELASTIC_ERROR_FILE", ""}};
  std::vector<std::string> said;
  const auto joins = [&](Ports&, ProcessGroup& group) {
    said.push_back(raised([&] { group.init({}); }));
    said.push_back(group.is_initialized() ? group.launch().elastic->run_id : "no group");
  };
  work(0, joins, elastic);  // nothing serves it yet
  world_.run();
  EXPECT_THAT(said, ElementsAre(HasSubstr("29500"), "no group"));
  said.clear();
  world_.start(a_, "agent", [](Ports& ports) {
    const auto store = serve_tcp_store(ports, sim::PortNumber{29500}, "rendezvous");
    world::sleep(ports, 5s);
    return 0;
  });
  work(0, joins, elastic);
  world_.run();
  EXPECT_THAT(said, ElementsAre("nothing", "job"));
}

}  // namespace
}  // namespace hooke::model
