// What hooke state prints.
#include "reports/rendezvous_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using model::NodeDesc;
using model::NodeRef;

constexpr const char* kPlace = "head:29400";
constexpr sim::WallTime kNow{1000s};

/// Two members that are listed against their ranks, one that waits, one spare without a heartbeat.
model::RendezvousView some_view() {
  const NodeRef a(NodeDesc{"node-a", 11, 0}), b(NodeDesc{"node-b", 12, 0});
  const NodeRef late(NodeDesc{"late", 13, 0}), spare(NodeDesc{"spare", 14, 0});
  model::RendezvousState state;
  state.round = 3;
  state.complete = true;
  state.participants = {{b, 1}, {a, 0}};
  state.wait_list = {late};
  state.redundancy_list = {spare};
  state.last_heartbeats = {{b, kNow - 2500ms}, {a, kNow + 400ms}, {late, kNow - 61s}};
  model::RendezvousView view;
  view.state = std::make_shared<model::RendezvousState>(state);
  view.state_bytes = 551;
  view.master = model::RendezvousStoreInfo{"node-a", 29500};
  view.master_round = 3;
  view.world_size = 16;
  return view;
}

std::string text_of(const std::optional<model::RendezvousView>& view) {
  return view_text(kPlace, job_record("train", "c10d", view, kNow), view ? view->state_bytes : 0);
}
nlohmann::json json_of(const std::optional<model::RendezvousView>& view) {
  return nlohmann::json::parse(
      view_json(kPlace, job_record("train", "c10d", view, kNow), view ? view->state_bytes : 0));
}

TEST(RendezvousView, shows_a_line_for_each_node_by_rank) {
  EXPECT_EQ(text_of(some_view()),
            "job      train, c10d at head:29400\n"
            "status   complete, round 3\n"
            "master   node-a:29500\n"
            "workers  16\n"
            "state    551 B\n"
            "\n"
            "   rank  node         heartbeat\n"
            "      0  node-a_11_0  0.4 s ahead of this clock\n"
            "      1  node-b_12_0  2.5 s ago\n"
            "  waits  late_13_0    61.0 s ago\n"
            "  spare  spare_14_0   never\n");
}

TEST(RendezvousView, shows_no_ranks_before_the_round_is_complete_but_the_end_of_last_call) {
  model::RendezvousView view = some_view();
  model::RendezvousState state = *view.state;
  state.complete = false;
  state.deadline = kNow + 12s;
  view.state = std::make_shared<model::RendezvousState>(state);
  const std::string text = text_of(view);
  EXPECT_NE(text.find("status   last call, round 3, ends in 12.0 s\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      -  node-a_11_0"), std::string::npos) << text;
  const auto document = json_of(view);
  EXPECT_TRUE(document["participants"][0]["rank"].is_null());
  EXPECT_EQ(document["last_call_ends_in_s"], 12.0);
}

TEST(RendezvousView, shows_the_ranks_of_workers_where_agents_tell_them) {
  model::RendezvousView view = some_view();
  view.workers = {{"default", 0, 1}, {"default", 1, 15}};
  const std::string text = text_of(view);
  EXPECT_NE(text.find("   rank  node         workers  heartbeat\n"
                      "      0  node-a_11_0  0        0.4 s ahead of this clock\n"
                      "      1  node-b_12_0  1-15     2.5 s ago\n"
                      "  waits  late_13_0    -        61.0 s ago\n"),
            std::string::npos)
      << text;
  const auto document = json_of(view);
  EXPECT_EQ(document["participants"][1]["workers"],
            (nlohmann::json{{"role", "default"}, {"first_rank", 1}, {"count", 15}}));
}

TEST(RendezvousView, shows_what_the_legacy_rendezvous_keeps_of_its_members) {
  model::LegacyEtcdView view;
  view.state = model::joinable_legacy_state(2);
  view.state->status = model::LegacyState::Status::final_;
  view.state->participants = {{0, 1}};
  view.state->keep_alives = {{"/rank_0", "/rank_1"}};
  view.state->num_workers_waiting = 1;
  view.kept = {true, false};
  const model::JobRecord record = model::job_record("train", view);
  EXPECT_EQ(view_text("etcd:2379", record, 99),
            "job      train, etcd at etcd:2379\n"
            "status   complete, round 2\n"
            "state    99 B\n"
            "\n"
            "   rank  node  heartbeat\n"
            "      0  -     its key is there\n"
            "      1  -     its key has expired\n"
            "  waits  -     not kept\n");
  const auto document = nlohmann::json::parse(view_json("etcd:2379", record, 99));
  EXPECT_TRUE(document["participants"][0]["addr"].is_null());
  EXPECT_EQ(document["participants"][1]["has_key"], false);
}

TEST(RendezvousView, of_a_static_job_shows_no_round) {
  const model::JobRecord record = model::job_record(
      "train", std::optional(model::StaticView{2, {{"default", 0, 2}}}), {"head", 29500});
  EXPECT_EQ(view_text(kPlace, record, 0),
            "job      train, static at head:29400\n"
            "status   complete\n"
            "master   head:29500\n"
            "workers  2\n"
            "\n"
            "   rank  node  workers  heartbeat\n"
            "      0  -     0-1      not kept\n");
  EXPECT_TRUE(nlohmann::json::parse(view_json(kPlace, record, 0))["round"].is_null());
}

TEST(RendezvousView, says_what_the_job_waits_for) {
  model::RendezvousView view = some_view();
  EXPECT_EQ(text_of(view).find("\nwaits "), std::string::npos);
  const std::string missing =
      "\nwaits    a node that is new in round 3 for MASTER_ADDR of round 3 from rank 0, "
      "node-a_11_0\n";
  view.master_round = 2;
  EXPECT_NE(text_of(view).find(missing), std::string::npos) << text_of(view);
  view.master.reset();
  EXPECT_NE(text_of(view).find(missing), std::string::npos) << text_of(view);
  model::RendezvousState state = *view.state;
  state.complete = false;
  view.state = std::make_shared<model::RendezvousState>(state);
  EXPECT_NE(text_of(view).find("\nwaits    for more nodes, until there are min_nodes\n"),
            std::string::npos)
      << text_of(view);
}

TEST(RendezvousView, says_when_there_is_no_state_yet) {
  EXPECT_EQ(
      text_of(model::RendezvousView{}),
      "job      train, c10d at head:29400\nstatus   no state: no agent has written one yet\n");
  EXPECT_EQ(json_of(model::RendezvousView{})["status"], "no state");
}

TEST(RendezvousView, of_a_job_that_has_ended_says_so_and_gives_no_stale_values) {
  model::RendezvousView view = some_view();
  model::RendezvousState state = *view.state;
  state.closed = true;
  view.state = std::make_shared<model::RendezvousState>(state);
  EXPECT_EQ(text_of(view),
            "job      train, c10d at head:29400\n"
            "status   closed: the job has ended, no agent can join it any more\n");
  const auto document = json_of(view);
  EXPECT_EQ(document["status"], "closed");
  EXPECT_EQ(document["running"], false);
  EXPECT_FALSE(document.contains("master"));
  EXPECT_FALSE(document.contains("participants"));
}

TEST(RendezvousView, gives_programs_the_same) {
  const auto document = json_of(some_view());
  EXPECT_EQ(document["status"], "complete");
  EXPECT_EQ(document["running"], true);
  EXPECT_EQ(document["round"], 3);
  EXPECT_EQ(document["group_world_size"], 2);
  EXPECT_EQ(document["world_size"], 16);
  EXPECT_EQ(document["master"], (nlohmann::json{{"addr", "node-a"}, {"port", 29500}}));
  ASSERT_EQ(document["participants"].size(), 2U);
  EXPECT_EQ(document["participants"][1]["addr"], "node-b");
  EXPECT_EQ(document["participants"][1]["rank"], 1);
  EXPECT_EQ(document["participants"][1]["heartbeat_age_s"], 2.5);
  EXPECT_EQ(document["wait_list"][0]["pid"], 13);
  EXPECT_TRUE(document["redundancy_list"][0]["heartbeat_age_s"].is_null());
}

}  // namespace
}  // namespace hooke::report
