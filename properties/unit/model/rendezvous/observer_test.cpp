// Looking at a job from outside: what is seen, and that nothing is changed by looking.
#include "model/rendezvous/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/job_record.h"
#include "model/rendezvous/state/state_codec.h"
#include "properties/unit/model/agent/memory_store.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

/// A store as agents of the job "j" leave it, and the view of an onlooker.
class Observer : public testing::Test {
 protected:
  std::shared_ptr<MemoryStoreData> data = std::make_shared<MemoryStoreData>();

  void store_state(const RendezvousState& state, Variant variant = Variant::torch_2_x) {
    data->values["torch.rendezvous.j"] =
        base64_encode(encode_state(std::make_shared<RendezvousState>(state), variant));
  }
  void publish_master(std::int64_t round, const std::string& addr, const std::string& port) {
    const std::string prefix = "torch.rendezvous.j." + std::to_string(round) + "/";
    data->values[prefix + "MASTER_ADDR"] = Value(addr);
    data->values[prefix + "MASTER_PORT"] = Value(port);
  }
  /// Looks once; fails when that wrote anything.
  std::optional<RendezvousView> look() {
    const auto before = data->values;
    data->calls.clear();
    std::optional<RendezvousView> view;
    world::TestWorld onlooker;
    onlooker.start(onlooker.node("x"), "x", [&](sim::Ports& ports) {
      MemoryStore store(ports, data);
      view = observe_c10d(store, "j");
      return 0;
    });
    onlooker.run();
    EXPECT_EQ(data->values, before);
    for (const std::string& call : data->calls) {
      EXPECT_THAT(call, testing::AnyOf(testing::StartsWith("check "), testing::StartsWith("get "),
                                       testing::StartsWith("multi_get ")));
    }
    return view;
  }
};

RendezvousState complete_round(std::int64_t round) {
  const NodeRef node(NodeDesc{"a", 7, 0});
  RendezvousState state;
  state.round = round;
  state.complete = true;
  state.participants.push_back({node, 0});
  state.last_heartbeats.push_back({node, sim::WallTime(std::chrono::seconds(100))});
  return state;
}

JobRecord record_of(const std::optional<RendezvousView>& view) {
  return job_record("j", "c10d", view, sim::WallTime(std::chrono::seconds(130)));
}

TEST_F(Observer, of_an_unknown_job_sees_nothing) {
  EXPECT_EQ(record_of(look()).status, JobStatus::unknown);
  EXPECT_EQ(data->calls, std::vector<std::string>{"check torch.rendezvous.j"});
}

TEST_F(Observer, of_a_job_whose_agents_have_only_begun_sees_that_there_is_no_state) {
  data->values["torch.rendezvous.j"] = c10d_no_state();
  const auto view = look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->state, nullptr);
  EXPECT_EQ(record_of(view).status, JobStatus::no_state);
  EXPECT_FALSE(record_of(view).running());
}

TEST_F(Observer, sees_the_state_and_the_master_of_its_round) {
  store_state(complete_round(2));
  publish_master(1, "old", "1");
  publish_master(2, "new", "29500");
  const auto view = look();
  ASSERT_TRUE(view);
  EXPECT_EQ(*view->state, complete_round(2));
  EXPECT_GT(view->state_bytes, 100U);
  EXPECT_EQ(view->master, (RendezvousStoreInfo{"new", 29500}));
}

TEST_F(Observer, understands_the_states_of_1_13) {
  RendezvousState state = complete_round(1);
  state.aware_times = false;
  store_state(state, Variant::torch_1_13);
  EXPECT_EQ(*look()->state, state);
}

TEST_F(Observer, of_agents_that_share_a_store_over_rounds_sees_the_master_published_last) {
  store_state(complete_round(9));
  publish_master(4, "head", "29500");
  const auto view = look();
  ASSERT_TRUE(view);
  EXPECT_EQ(view->master, (RendezvousStoreInfo{"head", 29500}));
}

TEST_F(Observer, shows_no_master_rather_than_a_wrong_one) {
  store_state(complete_round(0));
  publish_master(0, "head", "29500x");
  EXPECT_EQ(look()->master, std::nullopt);
}

TEST_F(Observer, names_each_status) {
  RendezvousState state;
  const auto status = [&] {
    store_state(state);
    return std::string(to_string(record_of(look()).status));
  };
  EXPECT_EQ(status(), "gathering");
  state.deadline = sim::WallTime(std::chrono::seconds(5));
  EXPECT_EQ(status(), "last call");
  state.complete = true;
  EXPECT_EQ(status(), "complete");
  state.closed = true;
  EXPECT_EQ(status(), "closed");
}

TEST_F(Observer, gives_the_record_of_a_job_at_work) {
  RendezvousState state = complete_round(2);
  const NodeRef second(NodeDesc{"b", 8, 0}), late(NodeDesc{"c", 9, 0}), spare(NodeDesc{"d", 10, 0});
  state.participants = {{second, 1}, state.participants.front()};
  state.wait_list.push_back(late);
  state.redundancy_list.push_back(spare);
  store_state(state);
  publish_master(2, "a", "29500");
  data->values["torch.rendezvous.j.2/torchelastic/assigned_ranks/0"] =
      Value(std::string("[0, 16, 0, 16]"));
  const std::string info = "torch.rendezvous.j.2/torchelastic/role_info/";
  data->values[info + "0"] = Value(R"({"role": "trainer", "rank": 0, "local_world_size": 4})");
  data->values[info + "1"] = Value(R"({"role": "trainer", "rank": 1, "local_world_size": 12})");
  const JobRecord record = record_of(look());
  EXPECT_TRUE(record.running());
  EXPECT_EQ(record.run_id, "j");
  EXPECT_EQ(record.backend, "c10d");
  EXPECT_EQ(record.round, 2);
  EXPECT_EQ(record.master, (RendezvousStoreInfo{"a", 29500}));
  EXPECT_EQ(record.group_world_size, 2);
  EXPECT_EQ(record.world_size, 16);
  ASSERT_EQ(record.participants.size(), 2U);
  EXPECT_EQ(record.participants[0].workers, (AgentWorkers{"trainer", 0, 4}));
  EXPECT_EQ(record.participants[1].workers, (AgentWorkers{"trainer", 4, 12}));
  EXPECT_EQ(record.participants[0].node, (NodeDesc{"a", 7, 0}));
  EXPECT_EQ(record.participants[0].heartbeat_age, std::chrono::seconds(30));
  EXPECT_EQ(record.participants[1].heartbeat_age, std::nullopt);
  EXPECT_EQ(record.rank_of({"b", 8, 0}), 1);
  EXPECT_EQ(record.rank_of({"c", 9, 0}), std::nullopt);
  ASSERT_EQ(record.wait_list.size(), 1U);
  ASSERT_EQ(record.redundancy_list.size(), 1U);

  state.complete = false;  // the members of round 2 gather anew: its master and ranks are history
  store_state(state);
  const JobRecord gathering = record_of(look());
  EXPECT_TRUE(gathering.running());
  EXPECT_EQ(gathering.master, std::nullopt);
  EXPECT_EQ(gathering.world_size, std::nullopt);
  EXPECT_EQ(gathering.rank_of({"b", 8, 0}), std::nullopt);

  state.complete = state.closed = true;
  store_state(state);
  const JobRecord ended = record_of(look());
  EXPECT_EQ(ended.status, JobStatus::closed);
  EXPECT_FALSE(ended.running());
  EXPECT_EQ(ended.master, std::nullopt);
  EXPECT_EQ(ended.group_world_size, std::nullopt);
  EXPECT_TRUE(ended.participants.empty() && ended.wait_list.empty());
}

TEST_F(Observer, gives_no_world_size_that_means_nothing) {
  store_state(complete_round(2));
  for (const char* text : {"", "[", "[0]", "[0, \"16\", 0, 16]", "{}"}) {
    data->values["torch.rendezvous.j.2/torchelastic/assigned_ranks/0"] = Value(std::string(text));
    EXPECT_EQ(record_of(look()).world_size, std::nullopt) << text;
  }
}

TEST_F(Observer, of_agents_of_1_13_sees_the_ranks_of_workers_too) {
  store_state(complete_round(0));
  data->values["torch.rendezvous.j.0/torchelastic/role_info0"] =
      Value(R"({"role": "default", "rank": 0, "local_world_size": 8})");
  EXPECT_EQ(record_of(look()).participants.at(0).workers, (AgentWorkers{"default", 0, 8}));
}

TEST_F(Observer, gives_no_ranks_of_workers_that_mean_nothing) {
  store_state(complete_round(2));
  for (const char* text : {"", "[]", R"({"role": "a"})", R"({"role": 1, "local_world_size": 1})",
                           R"({"role": "a", "local_world_size": -1})",
                           R"({"role": "a", "local_world_size": 9223372036854775808})"}) {
    data->values["torch.rendezvous.j.2/torchelastic/role_info/0"] = Value(std::string(text));
    EXPECT_EQ(record_of(look()).participants.at(0).workers, std::nullopt) << text;
  }
}

TEST_F(Observer, of_a_static_job_sees_its_agents_once_all_have_come) {
  const auto look_static = [&] {
    std::optional<StaticView> view;
    world::TestWorld onlooker;
    onlooker.start(onlooker.node("x"), "x", [&](sim::Ports& ports) {
      MemoryStore store(ports, data);
      view = observe_static(store, "j");
      return 0;
    });
    onlooker.run();
    return job_record("j", view, {"head", 29500});
  };
  const std::string info = "j/torchelastic/role_info/";
  data->values[info + "0"] = Value(R"({"role": "default", "rank": 0, "local_world_size": 1})");
  EXPECT_EQ(look_static().status, JobStatus::unknown);
  EXPECT_FALSE(look_static().running());
  data->values[info + "1"] = Value(R"({"role": "default", "rank": 1, "local_world_size": 2})");
  data->values["j/torchelastic/assigned_ranks/0"] = Value(std::string("[0, 3, 0, 3]"));
  const JobRecord record = look_static();
  EXPECT_EQ(record.status, JobStatus::complete);
  EXPECT_TRUE(record.running());
  EXPECT_EQ(record.round, std::nullopt);
  EXPECT_EQ(record.master, (RendezvousStoreInfo{"head", 29500}));
  EXPECT_EQ(record.world_size, 3);
  EXPECT_EQ(record.group_world_size, 2);
  ASSERT_EQ(record.participants.size(), 2U);
  EXPECT_EQ(record.participants[1].node, std::nullopt);
  EXPECT_EQ(record.participants[1].rank, 1);
  EXPECT_EQ(record.participants[1].workers, (AgentWorkers{"default", 1, 2}));
}

TEST(LegacyEtcdRecord, tells_each_status_and_which_members_keep_their_keys) {
  EXPECT_EQ(job_record("j", std::optional<LegacyEtcdView>()).status, JobStatus::unknown);
  EXPECT_EQ(job_record("j", std::optional(LegacyEtcdView{})).status, JobStatus::no_state);
  LegacyEtcdView view;
  const auto status = [&](LegacyState::Status each) {
    LegacyState state = joinable_legacy_state(7);
    state.status = each;
    state.participants = {{0, 1}};
    state.keep_alives = {{"/p/v_7/rank_0", "/p/v_7/rank_1"}};
    state.num_workers_waiting = 3;
    view.state = state;
    return std::string(to_string(job_record("j", view).status));
  };
  EXPECT_EQ(status(LegacyState::Status::setup), "gathering");
  EXPECT_EQ(status(LegacyState::Status::joinable), "gathering");
  EXPECT_EQ(status(LegacyState::Status::frozen), "gathering");
  EXPECT_EQ(status(LegacyState::Status::closed), "closed");
  EXPECT_EQ(status(LegacyState::Status::final_), "complete");
  view.kept = {true, false};
  view.master = RendezvousStoreInfo{"a", 4};
  view.workers = {{"default", 0, 2}, {"default", 2, 2}};
  const JobRecord record = job_record("j", view);
  EXPECT_EQ(record.round, 7);
  EXPECT_EQ(record.world_size, 4);
  EXPECT_EQ(record.wait_list.size(), 3U);
  EXPECT_EQ(record.participants.at(0).has_key, true);
  EXPECT_EQ(record.participants.at(1).has_key, false);
  EXPECT_EQ(record.participants.at(1).rank, 1);
  EXPECT_EQ(record.participants.at(1).workers, (AgentWorkers{"default", 2, 2}));
}

TEST_F(Observer, refuses_what_is_not_a_state) {
  data->values["torch.rendezvous.j"] = Value("bm90IGEgcGlja2xl");
  world::TestWorld onlooker;
  onlooker.start(onlooker.node("x"), "x", [&](sim::Ports& ports) {
    MemoryStore store(ports, data);
    EXPECT_THROW(observe_c10d(store, "j"), RendezvousStateError);
    return 0;
  });
  onlooker.run();
}

}  // namespace
}  // namespace hooke::model
