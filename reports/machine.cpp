// JSON by nlohmann_json, XML by pugixml.
#include "reports/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "scenarios/hunt/accounts.h"

namespace hooke::report {
namespace {

using nlohmann::ordered_json;

ordered_json violation_json(const properties::Violation& violation) {
  return {{"invariant", violation.invariant},
          {"at_ns", violation.at.time_since_epoch().count()},
          {"event", violation.event.value},
          {"witness", violation.witness}};
}

}  // namespace

ordered_json result_json(const Result& result) {
  const scenario::RunReport& run = result.run;
  ordered_json json{{"name", run.name},
                    {"file", result.file},
                    {"world", result.world},
                    {"verdict", !result.supported()    ? "unsupported"
                                : !result.conclusive() ? "inconclusive"
                                : result.good()        ? "passed"
                                                       : "failed"},
                    {"canary", result.must_fail},
                    {"seed", run.seed},
                    {"end", std::string(kernel::to_string(run.end))},
                    {"rounds", run.rounds},
                    {"world_time_ns", run.world_time.count()},
                    {"judged_at_ns", run.judged_at.time_since_epoch().count()},
                    {"wall_time_ns", run.wall_time.count()},
                    {"events", run.events},
                    {"steps", run.steps},
                    {"hash", run.hash}};
  if (!run.harness_failure.empty()) json["harness_failure"] = run.harness_failure;
  if (!result.conclusive()) json["inconclusive"] = run.inconclusive;
  if (!result.supported()) json["unsupported"] = run.unsupported;
  if (!run.logs.empty()) json["logs"] = run.logs;
  if (run.trace_difference) {
    json["trace_difference"] = {{"event", run.trace_difference->event_number},
                                {"first", run.trace_difference->first},
                                {"second", run.trace_difference->second}};
  }
  json["unmet"] = ordered_json::array();
  for (const scenario::Unmet& unmet : run.unmet) {
    json["unmet"].push_back({{"expectation", unmet.expectation}, {"reason", unmet.reason}});
  }
  json["violations"] = ordered_json::array();
  for (std::size_t i = 0; i < run.violations.size(); ++i) {
    json["violations"].push_back(violation_json(run.violations[i]));
    json["violations"].back()["unexpected"] = is_unexpected(run, i);
  }
  json["jobs"] = ordered_json::array();
  for (const scenario::JobResult& job : run.jobs) {
    json["jobs"].push_back(
        {{"run_id", job.run_id}, {"outcome", job.outcome}, {"agents", job.agents}});
  }
  json["accounts"] = hunt::accounts_json(run.accounts);
  json["agents"] = ordered_json::array();
  for (const scenario::AgentResult& agent : run.agents) {
    ordered_json entry{{"node", agent.node}, {"run_id", agent.run_id}, {"outcome", agent.outcome}};
    if (agent.exit_code) entry["exit_code"] = *agent.exit_code;
    entry["ended_ns"] = agent.ended.time_since_epoch().count();
    if (!agent.detail.empty()) entry["detail"] = agent.detail;
    json["agents"].push_back(std::move(entry));
  }
  json["faults"] = ordered_json::array();
  for (const scenario::InjectedFault& fault : run.faults) {
    json["faults"].push_back({{"what", fault.what},
                              {"at_ns", fault.at.time_since_epoch().count()},
                              {"felt", fault.felt},
                              {"entry", fault.entry}});
  }
  json["never_happened"] = ordered_json::array();
  for (const scenario::NeverHappened& entry : run.never_happened) {
    json["never_happened"].push_back(
        {{"entry", entry.entry}, {"what", entry.what}, {"why", entry.why}});
  }
  json["coverage"] = run.coverage;
  return json;
}

namespace {

template <class Is>
std::size_t count(const std::vector<Result>& results, Is is) {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), is));
}
bool failed(const Result& result) {
  return result.supported() && result.conclusive() && !result.good();
}
bool cut(const Result& result) {
  return result.supported() && !result.conclusive();
}
bool unsupported(const Result& result) {
  return !result.supported();
}
/// An error in JUnit's words: it could not be judged.
bool in_error(const Result& result) {
  return result.supported() && (cut(result) || !result.run.harness_failure.empty());
}

}  // namespace

std::string to_json(const std::vector<Result>& results) {
  const std::size_t failures = count(results, failed);
  const std::size_t inconclusive = count(results, cut);
  const std::size_t skipped = count(results, unsupported);
  ordered_json json{{"passed", results.size() - failures - inconclusive - skipped},
                    {"failed", failures},
                    {"inconclusive", inconclusive}};
  json["results"] = ordered_json::array();
  for (const Result& result : results) json["results"].push_back(result_json(result));
  return json.dump(2) + "\n";
}

std::string to_junit(const std::vector<Result>& results) {
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  suite.append_attribute("name") = "hooke scenarios";
  suite.append_attribute("tests") = static_cast<unsigned long long>(results.size());
  const std::size_t failures =
      count(results, [](const Result& result) { return failed(result) && !in_error(result); });
  suite.append_attribute("failures") = static_cast<unsigned long long>(failures);
  suite.append_attribute("errors") = static_cast<unsigned long long>(count(results, in_error));
  suite.append_attribute("skipped") = static_cast<unsigned long long>(count(results, unsupported));
  for (const Result& result : results) {
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = result.run.name.c_str();
    test.append_attribute("classname") = result.file.c_str();
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(result.run.wall_time).count();
    test.append_attribute("time") = fmt::format("{}.{:03}", ms / 1000, ms % 1000).c_str();
    if (const auto notes = timeline_notes(result.run); !notes.empty()) {
      pugi::xml_node properties = test.append_child("properties");
      for (const TimelineNote& note : notes) {
        pugi::xml_node property = properties.append_child("property");
        property.append_attribute("name") = note.entry.c_str();
        property.append_attribute("value") = note.text.c_str();
      }
    }
    if (!result.supported()) {
      test.append_child("skipped").append_attribute("message") = result.run.unsupported.c_str();
      continue;
    }
    if (cut(result)) {
      pugi::xml_node error = test.append_child("error");
      error.append_attribute("type") = "inconclusive";
      error.append_attribute("message") = ("inconclusive: " + result.run.inconclusive).c_str();
      continue;
    }
    if (result.good() && !in_error(result)) continue;
    const std::string text = explanation(result, Style{}, true);
    pugi::xml_node failure = test.append_child(in_error(result) ? "error" : "failure");
    failure.append_attribute("message") =
        result.must_fail ? "a canary did not fail" : text.substr(0, text.find('\n')).c_str();
    failure.text() = text.c_str();
  }
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace hooke::report
