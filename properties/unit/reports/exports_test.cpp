// What Perfetto, ShiViz and code hosts get of whole simulated jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/exports/perfetto.h"
#include "reports/exports/sarif.h"
#include "reports/exports/shiviz.h"
#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct ExportedRun {
  scenario::RunReport run;
  RunRecord record;
  std::string shiviz;
};

/// Two nodes, of which one crashes and comes back; `expect` ends the scenario.
ExportedRun run_for_exports(const std::string& expect) {
  const scenario::Scenario scenario = scenario::load_scenario(
      R"({"version": 1, "name": "x", "seed": 1,
          "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 2}},
          "cluster": {"nodes": [{"id": "a"}, {"id": "b"}], "store_host": "external"},
          "workers": {"program": [{"init": true}, {"collective": 60, "work": "10s"}, {"exit": 0}]},
          "timeline": [{"at": "60s", "do": "node.crash", "node": "b", "for": "15s"}])" +
          expect + "}",
      "x");
  ExportedRun out{{}, RunRecord(scenario.machine_names()), {}};
  std::ostringstream text;
  ShivizLog shiviz(text, scenario.machine_names());
  kernel::Kernel kernel;
  scenario::RunOptions options;
  options.determinism_check = false;
  options.sinks = {&out.record, &shiviz};
  out.run =
      scenario::run(kernel, scenario, options, properties::InvariantRegistry::with_builtins());
  out.record.finish(out.run.judged_at);
  out.shiviz = text.str();
  return out;
}

TEST(PerfettoTrace, has_a_process_for_each_node_and_spans_that_do_not_overlap) {
  const ExportedRun played = run_for_exports("");
  const json trace = json::parse(perfetto_trace(played.record, played.run.violations));
  std::map<std::string, int> processes;
  std::map<std::pair<int, int>, double> ends;
  int spans = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes[event["args"]["name"]] = event["pid"];
    if (event["ph"] != "X") continue;
    ++spans;
    double& end = ends[{event["pid"], event["tid"]}];
    EXPECT_GE(event["ts"].get<double>(), end);
    end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_THAT(processes, testing::SizeIs(3));
  EXPECT_EQ(processes.count("node a") + processes.count("node b"), 2U);
  EXPECT_GE(spans, 5);
}

TEST(PerfettoTrace, draws_faults_and_violations_across_all_tracks) {
  const ExportedRun played = run_for_exports("");
  ASSERT_FALSE(played.run.violations.empty());
  const json trace = json::parse(perfetto_trace(played.record, played.run.violations));
  std::size_t violations = 0;
  bool crash = false;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "i" || event["s"] != "g") continue;
    if (event["cat"] == "violation") ++violations;
    crash = crash || (event["name"] == "node.crash b" && event["ts"] == 60'000'000.0);
  }
  EXPECT_EQ(violations, played.run.violations.size());
  EXPECT_TRUE(crash);
}

TEST(ShivizLog, counts_each_nodes_own_events_one_by_one_and_knows_what_came_before) {
  std::istringstream lines(run_for_exports("").shiviz);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, kShivizPattern);
  std::getline(lines, line);
  EXPECT_EQ(line, "");
  std::map<std::string, int> own;
  bool foreign = false;
  while (std::getline(lines, line)) {
    const std::string host = line.substr(0, line.find(' '));
    const json clock = json::parse(line.substr(line.find(' ')));
    EXPECT_EQ(clock.at(host), ++own[host]);
    foreign = foreign || clock.size() > 1;
    for (const auto& [name, count] : clock.items()) EXPECT_LE(count, own[name]) << line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_FALSE(line.empty());
  }
  EXPECT_THAT(own, testing::SizeIs(testing::Ge(3U)));
  EXPECT_TRUE(foreign);
}

TEST(Sarif, has_a_rule_and_a_place_for_each_thing_that_fell) {
  Result result{"dir/a b.json", false,
                run_for_exports(R"(, "expect": {"outcome": {"a": "succeeded"}})").run};
  result.lines["expect.outcome.a"] = 12;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const json log = json::parse(to_sarif({result, result}, invariants, "1.2.3"));
  EXPECT_EQ(log["version"], "2.1.0");
  const json& run = log["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["version"], "1.2.3");
  const json& rules = run["tool"]["driver"]["rules"];
  ASSERT_GE(rules.size(), 2U);
  ASSERT_EQ(run["results"].size(), 2 * rules.size());  // a rule once, a result per run
  for (const json& found : run["results"]) {
    EXPECT_EQ(rules[found["ruleIndex"].get<std::size_t>()]["id"], found["ruleId"]);
    const json& place = found["locations"][0]["physicalLocation"];
    EXPECT_EQ(place["artifactLocation"]["uri"], "dir/a%20b.json");
    EXPECT_EQ(place["region"]["startLine"], found["ruleId"] == "expect.outcome.a" ? 12 : 1);
  }
  EXPECT_THAT(rules.dump(), HasSubstr("never one node's departure"));
}

TEST(Sarif, of_what_passed_has_no_result) {
  Result result{"a.json", false, {}};
  result.run.passed = true;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const json log = json::parse(to_sarif({result}, invariants, "1"));
  EXPECT_EQ(log["runs"][0]["results"], json::array());
}

}  // namespace
}  // namespace hooke::report
