// The sentences are those of a run's summary.
#include "reports/recorded_job.h"

#include <fmt/format.h>

#include <filesystem>

#include "reports/machine.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

std::string verdict_line(const Result& result, const Style& style) {
  const scenario::RunReport& run = result.run;
  std::size_t judged = 0;
  for (const auto& [invariant, account] : run.accounts) judged += account.judged() > 0 ? 1 : 0;
  const std::string verdict = result.good()
                                  ? paint(style, "32", "no violation found")
                                  : paint(style, "31;1",
                                          fmt::format("{} violation{}", run.violations.size(),
                                                      run.violations.size() == 1 ? "" : "s"));
  return fmt::format("{}: {} invariants had something to judge ({} events, {} round{}, {})\n",
                     verdict, judged, grouped(run.events), run.rounds, run.rounds == 1 ? "" : "s",
                     short_time(run.world_time));
}

}  // namespace

std::string name_of_recording(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return fmt::format("{} traces", paths.size());
  return std::filesystem::path(paths.front()).filename().string();
}

std::string recorded_job_text(const Result& result, const Grounds& grounds, const Style& style) {
  const std::string indent(10, ' ');
  const std::size_t width = std::max<std::size_t>(style.width, 40) - 2;
  std::string out = verdict_line(result, style) + explanation(result, style, true, true);
  if (!grounds.assumptions.empty()) out += paint(style, "33", "  taken for granted\n");
  for (const std::string& assumption : grounds.assumptions) {
    out += indent + wrap(assumption, width, indent) + "\n";
  }
  for (const scenario::NotJudged& each : grounds.not_judged) {
    out += paint(style, "33", fmt::format("  not judged: {}", each.reason)) + "\n";
    out += indent + wrap(joined(each.invariants), width, indent) + "\n";
  }
  return out;
}

nlohmann::ordered_json recorded_job_json(const Result& result, const Grounds& grounds) {
  nlohmann::ordered_json json = result_json(result);
  json["assumptions"] = grounds.assumptions;
  json["not_judged"] = nlohmann::ordered_json::array();
  for (const scenario::NotJudged& each : grounds.not_judged) {
    json["not_judged"].push_back({{"reason", each.reason}, {"invariants", each.invariants}});
  }
  return json;
}

}  // namespace hooke::report
