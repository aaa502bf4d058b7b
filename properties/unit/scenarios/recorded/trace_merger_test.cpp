// What real processes say, told as one story.
#include "scenarios/recorded/trace_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/trace_events.h"
#include "scenarios/recorded/worker_events.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using testing::ElementsAre;

constexpr sim::NodeId kA{0}, kB{1};
constexpr sim::Pid kAgent{10}, kWorker{11}, kOther{20}, kOtherWorker{21};

/// Notes each event as "at type node/pid" with the fields that matter.
class Notes final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    std::string line = std::to_string(event.at.time_since_epoch() / 1ms) + " " +
                       std::string(event.type->name) + " " + (event.node == kA ? "a/" : "b/") +
                       std::to_string(event.pid.value);
    for (const char* field : {"status", "round", "rank", "cause", "participants"}) {
      for (std::size_t i = 0; i < event.type->field_count; ++i) {
        if (event.type->fields[i] != field) continue;
        line += std::string(" ") + field + "=" +
                (event.fields[i].is_text() ? std::string(event.fields[i].text())
                                           : std::to_string(event.fields[i].number()));
      }
    }
    lines.push_back(line);
  }
  std::vector<std::string> lines;
};

class TraceMergerOf {
 public:
  explicit TraceMergerOf(AgentKind kind) : merger(kind, scenario, names, sim::WorldTime(1000ms)) {
    merger.add_sink(notes);
  }
  void note(int at_ms, sim::NodeId node, sim::Pid pid, const sim::EventType& type,
            std::vector<RawEvent::Field> fields) {
    merger.note({sim::WorldTime(sim::Duration(std::chrono::milliseconds(1000 + at_ms))),
                 node,
                 pid,
                 &type,
                 std::move(fields),
                 {}});
  }
  std::vector<std::string> told(int until_ms = 10'000) {
    merger.tell(sim::WorldTime(sim::Duration(std::chrono::milliseconds(1000 + until_ms))));
    return std::exchange(notes.lines, {});
  }
  void worker_starts(int at_ms, sim::NodeId node, sim::Pid agent, sim::Pid worker) {
    note(at_ms, node, agent, ev::worker_started,
         {"job", 0, std::int64_t{worker.value}, 0, 0, 1, 0, "a:1"});
  }
  void worker_reports(int at_ms, sim::NodeId node, sim::Pid agent, sim::Pid worker,
                      const std::string& group, std::int64_t restarts, std::int64_t round) {
    note(at_ms, node, worker, events::worker_reported,
         {std::int64_t{agent.value}, 0, 0, 1, group, restarts, round, "a:1"});
  }

  Scenario scenario;
  std::vector<std::string> names{"a", "b", "store"};
  Notes notes;
  TraceMerger merger;
};

TEST(TraceMerger, tells_in_the_order_of_time_and_late_news_late) {
  TraceMergerOf of(AgentKind::hooke);
  of.note(30, kB, kOther, wev::process_started, {0, "agent", 20});
  of.note(10, kA, kAgent, wev::process_started, {0, "agent", 10});
  EXPECT_THAT(of.told(20), ElementsAre("10 process.started a/10"));
  EXPECT_THAT(of.told(40), ElementsAre("30 process.started b/20"));
  of.note(25, kA, kAgent, wev::process_ended, {0});
  EXPECT_THAT(of.told(), ElementsAre("30 process.ended a/10 status=0"));
}

/// How long ago exchanges began.
class Begun final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) spans.emplace_back(event.field("began").number());
  }
  std::vector<sim::Duration> spans;
};

TEST(TraceMerger, opens_an_exit_barrier_behind_those_that_came_in_the_same_millisecond) {
  TraceMergerOf job(AgentKind::torchrun);
  const auto logs = [&](sim::NodeId node, sim::Pid agent, Logged what) {
    job.note(7, node, agent, events::agent_logged, {static_cast<std::int64_t>(what)});
  };
  logs(kA, kAgent, Logged::exit_barrier_left);
  job.note(7, kA, kAgent, wev::process_ended, {0});
  logs(kB, kOther, Logged::exit_barrier_entered);
  EXPECT_THAT(job.told(), ElementsAre(testing::StartsWith("7 exit_barrier.entered b/20"),
                                      testing::StartsWith("7 exit_barrier.left a/10"),
                                      testing::StartsWith("7 process.ended a/10")));
}

TEST(TraceMerger, lets_nothing_begin_later_for_being_told_late) {
  TraceMergerOf of(AgentKind::hooke);
  Begun begun;
  of.merger.add_sink(begun);
  const auto exchange = [&](int at_ms) {
    of.note(at_ms, kA, kAgent, ev::rendezvous_exchanged,
            {"job", "read", 0, 1, std::int64_t{2'000'000}, 0});
  };
  exchange(30);
  static_cast<void>(of.told(40));
  exchange(25);
  static_cast<void>(of.told());
  EXPECT_THAT(begun.spans, ElementsAre(2ms, 7ms)) << "it is told 5 ms late";
}

/// The wall times of what is told.
class WallTimes final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override { times.push_back(event.wall); }
  std::vector<sim::WallTime> times;
};

TEST(TraceMerger, knows_a_nodes_wall_clock_from_what_its_processes_tell) {
  TraceMergerOf of(AgentKind::hooke);
  WallTimes wall;
  of.merger.add_sink(wall);
  // At 1,020 ms of the machine's clock the agent's wall clock said one hour.
  of.merger.note(
      {sim::WorldTime(1020ms), kA, kAgent, &ev::coverage_point, {"x"}, sim::WallTime(1h)});
  of.note(30, kA, kAgent, wev::process_ended, {0});  // the cluster's news has none
  static_cast<void>(of.told());
  EXPECT_THAT(wall.times, ElementsAre(sim::WallTime(1h), sim::WallTime(1h + 10ms)));
}

TEST(TraceMerger, adds_the_beginning_and_the_end_of_a_worker_once) {
  TraceMergerOf of(AgentKind::hooke);
  of.worker_starts(10, kA, kAgent, kWorker);
  EXPECT_THAT(of.told(),
              ElementsAre("10 process.started a/11", testing::HasSubstr("worker.started")));
  ASSERT_EQ(of.merger.living_workers().size(), 1U);
  of.note(20, kA, kAgent, ev::worker_ended, {std::int64_t{11}, 0, 0, 3, 0});
  of.note(25, kA, kWorker, wev::process_ended, {3});  // the cluster found it gone as well
  EXPECT_THAT(of.told(), ElementsAre("20 process.ended a/11 status=3",
                                     testing::HasSubstr("worker.ended a/10 status=3")));
  EXPECT_TRUE(of.merger.living_workers().empty());
}

TEST(TraceMerger, gives_the_signal_of_a_hooke_agent_to_its_worker) {
  TraceMergerOf of(AgentKind::hooke);
  of.worker_starts(10, kA, kAgent, kWorker);
  static_cast<void>(of.told());
  of.note(20, kA, kAgent, ev::worker_signalled, {std::int64_t{11}, 15, "stop"});
  EXPECT_THAT(of.told(), ElementsAre("20 worker.signalled a/10", "20 process.signalled a/11"));
}

TEST(TraceMerger, gathers_a_torchrun_round_from_its_workers) {
  TraceMergerOf of(AgentKind::torchrun);
  of.worker_reports(10, kA, kAgent, kWorker, "0/2", 0, 0);
  EXPECT_THAT(of.told(),
              ElementsAre("10 rendezvous.completed a/10 round=0 participants=2",
                          "10 rendezvous.joined a/10 round=0 rank=0", "10 process.started a/11",
                          testing::HasSubstr("worker.started a/10"), "10 group.state a/10"));
  of.worker_reports(11, kB, kOther, kOtherWorker, "1/2", 0, 0);
  EXPECT_THAT(of.told(),
              ElementsAre("11 rendezvous.joined b/20 round=0 rank=1", "11 process.started b/21",
                          testing::HasSubstr("worker.started b/20"), "11 group.state b/20"));
}

TEST(TraceMerger,
     tells_that_a_torchrun_agent_left_when_its_worker_failed_and_others_when_they_return) {
  TraceMergerOf of(AgentKind::torchrun);
  of.worker_reports(10, kA, kAgent, kWorker, "0/2", 0, 0);
  of.worker_reports(10, kB, kOther, kOtherWorker, "1/2", 0, 0);
  static_cast<void>(of.told());
  of.note(20, kB, kOtherWorker, events::worker_exits, {3});
  of.note(21, kB, kOtherWorker, wev::process_ended, {3});
  EXPECT_THAT(of.told(),
              ElementsAre("21 process.ended b/21 status=3", "21 worker.ended b/20 status=3 rank=0",
                          "21 group.restarting b/20 round=0 cause=worker_failure",
                          "21 rendezvous.left b/20 round=0 participants=0"));
  of.worker_reports(30, kA, kAgent, sim::Pid{12}, "0/2", 0, 1);
  EXPECT_THAT(of.told(), ElementsAre("30 group.restarting a/10 round=0 cause=membership_change",
                                     "30 rendezvous.left a/10 round=0 participants=0",
                                     "30 rendezvous.joining a/10",
                                     "30 rendezvous.completed a/10 round=1 participants=2",
                                     "30 rendezvous.joined a/10 round=1 rank=0",
                                     "30 process.started a/12", testing::_, testing::_));
}

TEST(TraceMerger, a_torchrun_agent_that_is_gone_restarts_nothing) {
  TraceMergerOf of(AgentKind::torchrun);
  of.worker_reports(10, kA, kAgent, kWorker, "0/1", 0, 0);
  static_cast<void>(of.told());
  of.note(20, kA, kAgent, wev::process_ended, {-9});
  of.note(21, kA, kWorker, wev::process_ended, {-9});
  EXPECT_THAT(of.told(),
              ElementsAre("20 process.ended a/10 status=-9", "21 process.ended a/11 status=-9",
                          "21 worker.ended a/10 status=-9 rank=0"));
}

TEST(TraceMerger, tells_what_a_torchrun_agent_has_logged) {
  TraceMergerOf of(AgentKind::torchrun);
  const auto logged = [&](int at_ms, Logged what) {
    of.note(at_ms, kA, kAgent, events::agent_logged, {static_cast<std::int64_t>(what)});
  };
  of.scenario.protocol.agent.max_restarts = 1;
  of.worker_reports(10, kA, kAgent, kWorker, "0/1", 0, 4);
  static_cast<void>(of.told());
  logged(20, Logged::worker_failed);  // with a restart left, its worker's end has said so
  EXPECT_THAT(of.told(), testing::IsEmpty());
  of.worker_reports(30, kA, kAgent, sim::Pid{12}, "0/1", 1, 5);
  static_cast<void>(of.told());
  logged(40, Logged::worker_failed);
  logged(50, Logged::exit_barrier_entered);
  logged(60, Logged::exit_barrier_left);
  logged(70, Logged::closed);
  EXPECT_THAT(of.told(), ElementsAre("40 group.state a/10", "50 exit_barrier.entered a/10 round=5",
                                     "60 exit_barrier.left a/10 round=5",
                                     "70 rendezvous.closed a/10 round=5"));
}

}  // namespace
}  // namespace hooke::scenario
