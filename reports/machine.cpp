// JSON by nlohmann_json; XML is in junit.cpp.
#include "reports/machine.h"

#include <algorithm>

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

ordered_json violations_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (std::size_t i = 0; i < run.violations.size(); ++i) {
    json.push_back(violation_json(run.violations[i]));
    json.back()["unexpected"] = is_unexpected(run, i);
  }
  return json;
}

ordered_json unmet_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (const scenario::Unmet& unmet : run.unmet) {
    json.push_back({{"expectation", unmet.expectation}, {"reason", unmet.reason}});
  }
  return json;
}

ordered_json jobs_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (const scenario::JobResult& job : run.jobs) {
    json.push_back({{"run_id", job.run_id}, {"outcome", job.outcome}, {"agents", job.agents}});
  }
  return json;
}

ordered_json agents_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (const scenario::AgentResult& agent : run.agents) {
    ordered_json entry{{"node", agent.node}, {"run_id", agent.run_id}, {"outcome", agent.outcome}};
    if (agent.exit_code) entry["exit_code"] = *agent.exit_code;
    entry["ended_ns"] = agent.ended.time_since_epoch().count();
    if (!agent.detail.empty()) entry["detail"] = agent.detail;
    json.push_back(std::move(entry));
  }
  return json;
}

ordered_json faults_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (const scenario::InjectedFault& fault : run.faults) {
    json.push_back({{"what", fault.what},
                    {"at_ns", fault.at.time_since_epoch().count()},
                    {"felt", fault.felt},
                    {"entry", fault.entry}});
  }
  return json;
}

ordered_json never_happened_json(const scenario::RunReport& run) {
  ordered_json json = ordered_json::array();
  for (const scenario::NeverHappened& entry : run.never_happened) {
    json.push_back({{"entry", entry.entry}, {"what", entry.what}, {"why", entry.why}});
  }
  return json;
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
  json["unmet"] = unmet_json(run);
  json["violations"] = violations_json(run);
  json["jobs"] = jobs_json(run);
  json["accounts"] = hunt::accounts_json(run.accounts);
  json["agents"] = agents_json(run);
  json["faults"] = faults_json(run);
  json["never_happened"] = never_happened_json(run);
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

}  // namespace hooke::report
