// A record of a job's store: written from what looks see, read back, and judged beside logs.
#include "scenarios/recorded/state_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_run.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr sim::Duration kRecorded = std::chrono::hours(24 * 365 * 55);

sim::WallTime wall_at(sim::Duration since) {
  return sim::WallTime(kRecorded + since);
}

model::NodeRef node(const std::string& name, std::int64_t pid) {
  return model::NodeRef(model::NodeDesc{name, pid, 0});
}

/// A round of a and b; b sends no heartbeat after `b_until`.
model::RendezvousView view_of_two(sim::Duration now, sim::Duration b_until) {
  auto state = std::make_shared<model::RendezvousState>();
  state->complete = true;
  const model::NodeRef a = node("a", 10), b = node("b", 20);
  state->participants = {{a, 0}, {b, 1}};
  state->last_heartbeats = {{a, wall_at(now)}, {b, wall_at(std::min(now, b_until))}};
  model::RendezvousView view;
  view.state = std::move(state);
  view.master = model::RendezvousStoreInfo{"a", 29'500};
  return view;
}

/// A file of a test that is gone after it.
class RecordFile {
 public:
  RecordFile()
      : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~RecordFile() { std::remove(path_.c_str()); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void says(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string refusal() const {
    try {
      open_recording({path_});
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::string path_;
};

/// A look every 5 s for `span`.
void write_record(const std::string& path, sim::Duration span, sim::Duration b_until) {
  std::ofstream out(path);
  StateRecorder recorder(out, "train", "c10d", 5s, wall_at(0s));
  for (sim::Duration now = 1s; now < span; now += 5s) {
    recorder.saw(view_of_two(now, b_until), wall_at(now));
  }
  recorder.ended(wall_at(span));
}

TEST(StateRecord, is_read_back) {
  const RecordFile file;
  write_record(file.path(), 12s, 100s);
  const StateRecord read = read_state_record(file.path());
  EXPECT_EQ(read.run_id, "train");
  ASSERT_EQ(read.sights.size(), 3U);
  EXPECT_THAT(read.sights[0].participants,
              ElementsAre(std::pair<std::string, std::int64_t>("a_10_0", 0),
                          std::pair<std::string, std::int64_t>("b_20_0", 1)));
  EXPECT_EQ(read.sights[0].master_addr, "a");
  EXPECT_TRUE(read.sights[1].heartbeats_only);
  EXPECT_EQ(read.sights[2].heartbeats.size(), 2U);
}

TEST(StateRecord, alone_shows_that_a_member_died_and_the_others_went_on) {
  const RecordFile file;
  write_record(file.path(), 120s, 30s);
  const auto events = open_recording({file.path()});
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const RunReport report = judge_recording(*events, invariants, {}, std::nullopt);
  ASSERT_EQ(report.violations.size(), 1U);
  EXPECT_EQ(report.violations[0].invariant, "liveness.loss_detection");
  EXPECT_THAT(events->assumptions(), Contains(HasSubstr("taken to have been killed")));
  std::vector<std::string> missing;
  for (const NotJudged& each : not_judged(events->evidence(), invariants)) {
    missing.insert(missing.end(), each.invariants.begin(), each.invariants.end());
  }
  EXPECT_THAT(missing, Contains("safety.restart_budget"));
}

TEST(StateRecord, of_a_quiet_job_breaks_nothing) {
  const RecordFile file;
  write_record(file.path(), 120s, 200s);
  const auto events = open_recording({file.path()});
  const RunReport report =
      judge_recording(*events, properties::InvariantRegistry::with_builtins(), {}, std::nullopt);
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.rounds, 1);
}

TEST(StateRecord, that_is_none_is_refused_by_file_and_line) {
  const RecordFile file;
  const std::string begun =
      R"({"type":"record.began","at_ns":1,"version":1,"run_id":"x","backend":"c10d","every_ns":1})"
      "\n";
  file.says(begun);
  EXPECT_THAT(file.refusal(), HasSubstr(": line 1: expected a record that shows a member"));
  file.says(begun + "{\"type\":\"record.state\",\"at_ns\":2}\n");
  EXPECT_THAT(file.refusal(), HasSubstr(": line 2: "));
  file.says(begun + "{\"type\":\"record.ended\",\"at_ns\":0}\n");
  EXPECT_THAT(file.refusal(), HasSubstr("lines in order of time"));
  file.says(begun + "{\"type\":\"record.gone\",\"at_ns\":2}\n");
  EXPECT_THAT(file.refusal(), HasSubstr("record.gone"));
  file.says(begun + "{]\n");
  EXPECT_THAT(file.refusal(), HasSubstr(": line 2"));
}

TEST(StateRecord, of_a_killed_recorder_is_used_up_to_its_last_whole_line) {
  const RecordFile file;
  write_record(file.path(), 12s, 100s);
  std::ofstream(file.path(), std::ios::app) << "{\"type\":\"rec";
  EXPECT_EQ(read_state_record(file.path()).sights.size(), 3U);
}

}  // namespace
}  // namespace hooke::scenario
