// Files of several agents, put together into what happened in their job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/trace_events.h"
#include "reports/trace_file.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_run.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr sim::Duration kSince1970 = std::chrono::hours(24 * 365 * 55);

constexpr sim::FieldValue span(sim::Duration of) {
  return of;
}

/// The trace of one agent, as it would write it.
class AgentFile {
 public:
  /// `boot`: what its monotonic clock says at time 0; `ahead`: its wall clock, of the true time.
  AgentFile(const std::string& node, int pid, sim::Duration boot, sim::Duration ahead = 0s)
      : node_(node),
        path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
              node + std::to_string(pid) + ".jsonl"),
        out_(path_),
        trace_(out_, {node}),
        pid_(pid),
        boot_(boot),
        ahead_(ahead) {}
  ~AgentFile() { std::filesystem::remove(path_); }
  AgentFile(const AgentFile&) = delete;
  AgentFile& operator=(const AgentFile&) = delete;

  void says(sim::Duration at, const sim::EventType& type,
            std::initializer_list<sim::FieldValue> fields) {
    ++events_;
    const std::vector<sim::FieldValue> values(fields);
    trace_.on_event({sim::EventId{events_}, sim::EventId{events_ - 1}, sim::WorldTime(boot_ + at),
                     sim::WallTime(kSince1970 + at + ahead_), sim::NodeId{0}, sim::Pid{pid_}, &type,
                     values});
    out_.flush();
  }
  /// It starts, and gets into the only round with a worker.
  void joins(sim::Duration at, int rank, int size) {
    says(at, ev::agent_started, {"train", "c10d", size, size, 1, 3, span(30s)});
    says(at, ev::agent_settings,
         {span(600s), span(30s), span(30s), span(5s), span(15s), span(60s), span(100ms),
          span(300s)});
    says(at, ev::rendezvous_joining, {"train", node_ + "_" + std::to_string(pid_) + "_0", 0});
    if (rank == 0) says(at + 2s, ev::rendezvous_completed, {"train", 0, size, size, size});
    says(at + 3s, ev::rendezvous_joined,
         {"train", node_ + "_" + std::to_string(pid_) + "_0", 0, rank, size, "a", 29500});
    says(at + 3s, ev::ranks_assigned, {"train", 0, rank, size, rank, size});
    says(at + 3s, ev::worker_started, {"train", 0, pid_ + 1, 0, rank, size, 0, "a:29500"});
    says(at + 3s, ev::group_state, {"HEALTHY", 0});
  }
  void succeeds(sim::Duration at) {
    says(at, ev::worker_ended, {pid_ + 1, 0, 0, 0, false});
    says(at, ev::group_state, {"SUCCEEDED", 0});
    says(at, ev::agent_finished, {"succeeded", 0, ""});
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string node_, path_;
  std::ofstream out_;
  report::TraceFile trace_;
  std::uint64_t events_ = 0;
  int pid_;
  sim::Duration boot_, ahead_;
};

/// "3s a: rendezvous.joined", in the order in which they are told.
class Told final : public kernel::TraceSink {
 public:
  explicit Told(const std::vector<std::string>& names) : names_(names) {}
  void on_event(const sim::Event& event) override {
    std::string line = std::to_string(event.at.time_since_epoch() / 1ms) + " " +
                       names_[event.node.value] + " " + std::string(event.type->name);
    if (event.type == &world::events::process_ended) {
      line += " " + std::to_string(event.pid.value) + " " +
              std::to_string(event.field("status").number());
    }
    lines.push_back(line);
  }
  std::vector<std::string> lines;

 private:
  const std::vector<std::string>& names_;
};

struct Judged {
  RunReport report;
  std::vector<std::string> assumptions, told;
  Extent extent;
};

Judged judged(const std::vector<std::string>& paths) {
  const auto events = open_recording(paths);
  Told told(events->node_names());
  RunReport report = judge_recording(*events, properties::InvariantRegistry::with_builtins(),
                                     {&told}, std::nullopt);
  return {std::move(report), events->assumptions(), std::move(told.lines), events->extent()};
}

TEST(AgentTraces, machines_that_booted_at_other_times_share_an_axis) {
  AgentFile a("a", 10, 5h), b("b", 20, 900s);
  a.joins(0s, 0, 2);
  b.joins(1s, 1, 2);
  a.succeeds(10s);
  b.succeeds(11s);
  const Judged job = judged({a.path(), b.path()});
  EXPECT_THAT(job.assumptions, ElementsAre(HasSubstr("is known to about a second")));
  EXPECT_EQ(job.extent, Extent::several_clocks);
  EXPECT_THAT(job.told, Contains("2000 a rendezvous.completed"));
  EXPECT_THAT(job.told, Contains("4000 b rendezvous.joined"));
  EXPECT_THAT(job.told, Contains("10000 a process.ended 11 0"));
  EXPECT_THAT(job.told, Contains("10000 a process.ended 10 0"));
  EXPECT_EQ(job.report.jobs.at(0).outcome, "succeeded");
  EXPECT_EQ(job.report.jobs.at(0).run_id, "train");
  EXPECT_EQ(job.report.judged_at, sim::WorldTime(11s));
}

TEST(AgentTraces, a_clock_that_is_behind_is_put_right_and_that_is_said) {
  for (const auto& [behind, extent] : std::map<sim::Duration, Extent>{
           {2500ms, Extent::several_clocks}, {7s, Extent::each_agent}}) {
    AgentFile a("a", 10, 5h), b("b", 20, 900s, -behind);
    a.joins(0s, 0, 2);
    b.joins(1s, 1, 2);
    a.succeeds(10s);
    b.succeeds(11s);
    const Judged job = judged({a.path(), b.path()});
    EXPECT_THAT(job.assumptions,
                Contains(HasSubstr("the clock of b was at least " +
                                   std::to_string((behind - 2s) / 1ms) + " ms behind")));
    EXPECT_EQ(job.extent, extent);
    EXPECT_EQ(job.report.jobs.at(0).outcome, "succeeded");
  }
}

TEST(AgentTraces, agents_of_one_machine_share_its_clock) {
  AgentFile a("a", 10, 5h), b("a", 20, 5h);
  a.joins(0s, 0, 2);
  b.joins(1s, 1, 2);
  a.succeeds(10s);
  b.succeeds(11s);
  const Judged job = judged({a.path(), b.path()});
  EXPECT_THAT(job.assumptions, IsEmpty());
  EXPECT_EQ(job.extent, Extent::one_clock);
}

TEST(AgentTraces, a_state_that_no_trace_wrote_shows_that_one_is_missing) {
  AgentFile a("a", 10, 5h);
  a.joins(0s, 0, 1);
  a.says(4s, ev::rendezvous_exchanged, {"train", "write", 0, 71, 9, 1});
  a.says(5s, ev::rendezvous_exchanged, {"train", "read", 0, 71, 9, 1});
  EXPECT_EQ(judged({a.path()}).extent, Extent::one_clock);
  a.says(6s, ev::rendezvous_exchanged, {"train", "read", 0, 72, 9, 1});
  const Judged job = judged({a.path()});
  EXPECT_EQ(job.extent, Extent::each_agent);
  EXPECT_THAT(job.assumptions, Contains(HasSubstr("was written by agents that have no trace")));
}

TEST(AgentTraces, an_agent_that_got_into_no_round_shows_nothing_of_others) {
  AgentFile a("a", 10, 5h);
  a.says(0s, ev::agent_started, {"train", "etcd", 1, 1, 1, 3, span(30s)});
  a.says(1s, ev::agent_finished, {"error", 1, "RendezvousClosedError"});
  const Judged job = judged({a.path()});
  EXPECT_EQ(job.extent, Extent::each_agent);
  EXPECT_THAT(job.assumptions, ElementsAre(HasSubstr("an agent got into no round")));
}

TEST(AgentTraces, an_agent_that_falls_silent_while_others_go_on_was_killed) {
  AgentFile a("a", 10, 5h), b("b", 20, 900s);
  a.joins(0s, 0, 2);
  b.joins(1s, 1, 2);
  a.says(60s, ev::keep_alive_tick, {"ok", ""});
  const Judged job = judged({a.path(), b.path()});
  EXPECT_THAT(job.assumptions,
              ElementsAre(HasSubstr("is known to about a second"),
                          HasSubstr("stops before its agent ended: it was still running"),
                          HasSubstr("it is taken to have been killed then, with its workers")));
  EXPECT_THAT(job.told, Contains("4000 b process.ended 20 -9"));
  EXPECT_THAT(job.told, Contains("4000 b process.ended 21 -9"));
  EXPECT_THAT(job.report.agents.at(0).outcome, "running");
  EXPECT_THAT(job.report.agents.at(1).outcome, "killed");
}

TEST(AgentTraces, without_all_of_them_only_what_one_shows_of_itself_is_judged) {
  AgentFile b("b", 20, 900s);
  b.joins(1s, 1, 2);
  b.succeeds(11s);
  const Judged job = judged({b.path()});
  EXPECT_THAT(job.assumptions,
              ElementsAre(HasSubstr("had 2 members, of which 1 has a trace here")));
  for (const auto& [invariant, account] : job.report.accounts) {
    EXPECT_TRUE(is_judged({.extent = Extent::each_agent}, invariant)) << invariant;
  }
  EXPECT_THAT(job.report.violations, IsEmpty());
}

TEST(AgentTraces, what_an_agent_does_against_an_invariant_is_found) {
  AgentFile b("b", 20, 900s);
  b.joins(1s, 0, 1);
  b.says(11s, ev::worker_ended, {21, 0, 0, 1, false});
  b.says(11s, ev::agent_finished, {"succeeded", 0, ""});
  const Judged job = judged({b.path()});
  ASSERT_FALSE(job.report.violations.empty());
  EXPECT_EQ(job.report.violations.at(0).invariant, "safety.exit_code_truth");
  EXPECT_FALSE(job.report.passed);
}

TEST(AgentTraces, every_invariant_that_the_extents_name_exists) {
  const auto all = properties::InvariantRegistry::with_builtins().ids();
  const auto judged_of = [&](Extent extent) {
    return std::count_if(all.begin(), all.end(),
                         [&](const std::string& id) { return is_judged({.extent = extent}, id); });
  };
  EXPECT_EQ(judged_of(Extent::each_agent), 13);
  EXPECT_EQ(judged_of(Extent::several_clocks), 13 + 8);
  EXPECT_EQ(judged_of(Extent::one_clock), std::ssize(all) - 5 - 3);
  EXPECT_EQ(judged_of(Extent::whole_world), std::ssize(all) - 5);  // no trace tells of them
}

TEST(AgentTraces, files_that_do_not_belong_together_are_refused) {
  AgentFile a("a", 10, 5h), other("c", 10, 5h);
  a.joins(0s, 0, 1);
  const auto refusal = [](const std::vector<std::string>& paths) -> std::string {
    try {
      judged(paths);
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal({a.path(), a.path()}), HasSubstr("an agent that no other file tells of"));
  other.says(0s, world::events::process_started, {0, "agent", 10});
  EXPECT_THAT(refusal({a.path(), other.path()}), HasSubstr("a whole run, which is judged alone"));
}

}  // namespace
}  // namespace hooke::scenario
