// The words of faults, as runs of the library tell them.
#include "reports/fault_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "reports/page/run_record.h"
#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

scenario::Scenario loaded(const std::string& file) {
  return scenario::load_scenario_file(std::string(std::getenv("HOOKE_SOURCE_DIR")) +
                                      "/scenarios/library/" + file);
}

RunRecord recorded(const scenario::Scenario& scenario) {
  RunRecord record(scenario.machine_names());
  scenario::RunOptions options;
  options.determinism_check = false;
  options.sinks.push_back(&record);
  const auto invariants = properties::InvariantRegistry::with_builtins();
  kernel::Kernel kernel;
  record.finish(scenario::run(kernel, scenario, options, invariants).judged_at);
  return record;
}

scenario::TimelineEntry entry(const char* what, const char* node, sim::Duration at) {
  scenario::TimelineEntry made;
  made.what = what;
  made.from = {node};
  made.trigger.at = at;
  return made;
}

TEST(FaultWords, tell_apart_what_is_one_kind_of_fault_to_the_world) {
  scenario::Scenario scenario = loaded("smoke/late-joiner.json");
  scenario.timeline = {entry("worker.signal", "a", 45s), entry("agent.signal", "c", 70s),
                       entry("agent.kill", "b", 90s)};
  const RunRecord record = recorded(scenario);
  std::vector<std::string> words, lines;
  for (const FaultMark& fault : record.faults()) {
    words.push_back(fault.what.substr(0, fault.what.find(' ')));
  }
  EXPECT_THAT(words, ElementsAre("worker.signal", "agent.signal", "agent.kill"));
  for (const EventLine& line : record.lines()) lines.push_back(line.text);
  EXPECT_THAT(lines, Contains(StartsWith("*** worker.signal a pid ")));
}

TEST(FaultWords, name_what_an_entry_does_later) {
  // A scheduler asks every ten seconds, and kills.
  const RunRecord record =
      recorded(loaded("known_issues/incident-45-health-check-kills-the-waiting.json"));
  ASSERT_FALSE(record.faults().empty());
  EXPECT_THAT(record.faults().back().what, StartsWith("sched.health_kill "));
}

}  // namespace
}  // namespace hooke::report
