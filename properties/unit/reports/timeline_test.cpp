// Which lines of a run are told, and how they are cut. The phrases are checked by the samples of pages.
#include "reports/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "model/observe/trace_events.h"
#include "model/observe/worker_store_events.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// Three agents that start at 1, 2 and 3 s and are told of in that many columns of the terminal.
std::string three_starts(std::size_t width, TimelineFilter filter) {
  std::ostringstream out;
  Timeline timeline(out, {"a", "b", "c"}, width, std::move(filter));
  for (std::uint32_t node = 0; node < 3; ++node) {
    const std::array<sim::FieldValue, 7> fields{"job", "c10d", 1, 4, 1, 3, sim::Duration(30s)};
    sim::Event event;
    event.at = sim::WorldTime(std::chrono::seconds(node + 1));
    event.node = sim::NodeId{node};
    event.type = &model::events::agent_started;
    event.fields = fields;
    timeline.on_event(event);
  }
  return out.str();
}

TEST(Timeline, tells_of_all_nodes_in_columns_or_by_name) {
  EXPECT_EQ(
      three_starts(100, {}),
      "            a                            b                            c                 "
      "           \n"
      "    1.000 s agent starts\n"
      "    2.000 s                              agent starts\n"
      "    3.000 s                                                           agent starts\n");
  EXPECT_THAT(three_starts(60, {}), HasSubstr("    2.000 s b            agent starts\n"));
}

TEST(Timeline, of_chosen_nodes_has_only_their_columns) {
  const std::string text = three_starts(80, {{true, false, true}, {}, {}});
  EXPECT_THAT(text, HasSubstr("    1.000 s agent starts\n"));
  EXPECT_THAT(text, HasSubstr("    3.000 s                                   agent starts\n"));
  EXPECT_THAT(text, Not(HasSubstr("2.000 s")));
  EXPECT_THAT(text, Not(HasSubstr("b")));
}

TEST(Timeline, of_a_span_begins_and_ends_with_it) {
  const std::string text = three_starts(60, {{}, sim::WorldTime(2s), sim::WorldTime(2s)});
  EXPECT_THAT(text, HasSubstr("2.000 s"));
  EXPECT_THAT(text, Not(HasSubstr("1.000 s")));
  EXPECT_THAT(text, Not(HasSubstr("3.000 s")));
}

/// Workers of these ranks start on node 0, a second apart where `at_once` is false.
std::string starts_of(const std::vector<int>& ranks, bool at_once) {
  std::ostringstream out;
  {
    Timeline timeline(out, {"a"}, 80);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::array<sim::FieldValue, 8> fields{"job", 0, 100 + ranks[i], 0, ranks[i], 8, 0, ""};
      sim::Event event;
      event.at = sim::WorldTime(std::chrono::seconds(at_once ? 0 : i));
      event.node = sim::NodeId{0};
      event.type = &model::events::worker_started;
      event.fields = fields;
      timeline.on_event(event);
    }
  }
  return out.str();
}

TEST(Timeline, tells_in_one_line_of_workers_that_do_the_same_at_once) {
  EXPECT_THAT(starts_of({0, 1, 2, 3}, true), HasSubstr("0.000 s worker rank 0..3 of 8 starts\n"));
  const std::string gap = starts_of({0, 1, 3}, true);
  EXPECT_THAT(gap, HasSubstr("worker rank 0..1 of 8 starts\n"));
  EXPECT_THAT(gap, HasSubstr("worker rank 3 of 8 starts\n"));
  const std::string apart = starts_of({0, 1}, false);
  EXPECT_THAT(apart, HasSubstr("0.000 s worker rank 0 of 8 starts\n"));
  EXPECT_THAT(apart, HasSubstr("1.000 s worker rank 1 of 8 starts\n"));
}

TEST(Timeline, tells_in_one_line_of_late_writes_of_several_workers) {
  std::ostringstream out;
  {
    Timeline timeline(out, {"a"}, 120);
    for (const int rank : {4, 5, 6}) {
      const std::array<sim::FieldValue, 7> fields{"job", rank, 0, 2, "set", "k", "v"};
      sim::Event event;
      event.node = sim::NodeId{0};
      event.type = &model::events::worker_store_asked;
      event.fields = fields;
      timeline.on_event(event);
    }
  }
  EXPECT_THAT(out.str(),
              HasSubstr("0.000 s LATE, round 2 has begun: worker rank 4..6 of round 0: set k v\n"));
}

/// What node 0 tells of one event at its beginning.
template <std::size_t N>
std::string told(const sim::EventType& type, const std::array<sim::FieldValue, N>& fields) {
  std::ostringstream out;
  {
    Timeline timeline(out, {"a"}, 80);
    sim::Event event;
    event.node = sim::NodeId{0};
    event.type = &type;
    event.fields = fields;
    timeline.on_event(event);
  }
  return out.str();
}

TEST(Timeline, tells_which_signals_an_agent_sends_to_its_workers_and_why) {
  using Fields = std::array<sim::FieldValue, 3>;
  EXPECT_THAT(told(model::events::worker_signalled, Fields{101, 15, "stop"}),
              HasSubstr("0.000 s sends SIGTERM to worker pid 101 (stop)\n"));
  EXPECT_THAT(told(model::events::worker_signalled, Fields{101, 9, "grace is over"}),
              HasSubstr("0.000 s sends SIGKILL to worker pid 101 (grace is over)\n"));
}

/// The logs of torchrun do not tell it.
TEST(Timeline, has_no_size_of_a_list_where_it_is_not_known) {
  using Fields = std::array<sim::FieldValue, 4>;
  EXPECT_THAT(told(model::events::rendezvous_added, Fields{"job", 1, "wait_list", 2}),
              HasSubstr("enters wait_list of round 1 (2)\n"));
  EXPECT_THAT(told(model::events::rendezvous_added, Fields{"job", 1, "wait_list", 0}),
              HasSubstr("enters wait_list of round 1\n"));
}

/// A name that reads like the number of a worker is none.
TEST(Timeline, does_not_fold_what_only_reads_alike) {
  std::ostringstream out;
  {
    Timeline timeline(out, {"a"}, 80);
    for (const char* const target : {"pid 1", "pid 2"}) {
      const std::array<sim::FieldValue, 2> fields{target, ""};
      sim::Event event;
      event.node = sim::NodeId{0};
      event.type = &model::events::worker_stale_read;
      event.fields = fields;
      timeline.on_event(event);
    }
  }
  EXPECT_THAT(out.str(), HasSubstr("STALE value: pid 1\n"));
  EXPECT_THAT(out.str(), HasSubstr("STALE value: pid 2\n"));
}

/// The phrase for a request of rank 1 of round 0 while this round is the newest.
std::string asked(std::int64_t newest_round, const char* operation, const char* value) {
  const std::array<sim::FieldValue, 7> fields{"job", 1, 0, newest_round, operation, "k", value};
  sim::Event event;
  event.type = &model::events::worker_store_asked;
  event.fields = fields;
  return Phrases()(event);
}

std::string answered(const char* operation, const char* result, sim::Duration took) {
  const std::array<sim::FieldValue, 8> fields{"job", 1, 0, 1, operation, "k", result, took};
  sim::Event event;
  event.type = &model::events::worker_store_answered;
  event.fields = fields;
  return Phrases()(event);
}

TEST(Timeline, tells_what_a_worker_writes_and_whether_its_round_is_over) {
  EXPECT_EQ(asked(0, "set", "v"), "worker rank 1 of round 0: set k v");
  EXPECT_EQ(asked(2, "set", "v"), "LATE, round 2 has begun: worker rank 1 of round 0: set k v");
  EXPECT_EQ(asked(2, "get", ""), "") << "reads are for machines";
  EXPECT_EQ(asked(2, "add", "0"), "") << "that is a read";
}

TEST(Timeline, tells_answers_that_took_long_or_did_not_come) {
  EXPECT_EQ(answered("set", "ok", 10ms), "");
  EXPECT_EQ(answered("set", "ok", 2s),
            "worker rank 1 of round 0: set k answered after 2.000 s, in round 1");
  EXPECT_EQ(answered("wait", "ok", 2s), "") << "a wait may take long";
  EXPECT_EQ(answered("wait", "timed out", 2s), "worker rank 1 of round 0: wait k timed out");
}

TEST(Timeline, that_is_not_cut_has_a_column_for_every_node) {
  EXPECT_THAT(three_starts(Timeline::kUncut, {}),
              HasSubstr("    3.000 s " + std::string(80, ' ') + "agent starts\n"));
}

}  // namespace
}  // namespace hooke::report
