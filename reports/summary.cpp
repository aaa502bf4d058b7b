// The terminal table and the explanations below it.
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.h"

namespace hooke::report {
namespace {

std::string paint(const Style& style, const char* code, const std::string& text) {
  return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string verdict_word(const Result& result) {
  if (!result.run.harness_failure.empty()) return "HARNESS";
  if (result.must_fail) return result.good() ? "canary" : "CANARY";
  return result.good() ? "passed" : "FAILED";
}

}  // namespace

std::string table_head(const Style& style, std::size_t name_width) {
  return paint(style, "1",
               fmt::format("{:<7}  {}  {:>6}  {:>10}  {:>8}  {:>11}  {}\n", "verdict",
                           pad("scenario", name_width), "rounds", "virtual", "wall", "events",
                           "trace hash"));
}

std::string row(const Result& result, const Style& style, std::size_t name_width) {
  const scenario::RunReport& run = result.run;
  const char* colour = !result.good() || !run.harness_failure.empty() ? "31;1" : "32";
  return paint(style, colour, fmt::format("{:<7}", verdict_word(result))) +
         fmt::format("  {}  {:>6}  {:>10}  {:>8}  {:>11}  {}\n",
                     pad(fit(run.name, name_width), name_width), run.rounds,
                     short_time(run.world_time), short_time(run.wall_time), grouped(run.events),
                     run.hash);
}

std::string explanation(const Result& result, const Style& style, bool expected_too) {
  const scenario::RunReport& run = result.run;
  const std::string indent(10, ' ');
  std::string out;
  const auto line = [&](const char* colour, const std::string& head, const std::string& text) {
    out += paint(style, colour, "  " + head) + "\n" + indent +
           wrap(text, std::max<std::size_t>(style.width, 40) - 2, indent) + "\n";
  };
  if (!run.harness_failure.empty()) line("31", "the harness itself failed", run.harness_failure);
  if (run.twin_difference) {
    line("31",
         fmt::format("two runs of seed {} differ at event {}", run.seed,
                     run.twin_difference->event_number),
         "first run:  " + run.twin_difference->first);
    out += indent + "second run: " + run.twin_difference->second + "\n";
  }
  for (const scenario::Unmet& unmet : run.unmet) line("31", unmet.expectation, unmet.reason);
  if (!result.good() || expected_too) {
    for (const properties::Violation& violation : run.violations) {
      line("33",
           fmt::format("{} broken at {} s (event {})", violation.invariant,
                       seconds(violation.at.time_since_epoch()), violation.event.value),
           violation.witness);
    }
  }
  return out.empty() ? out
                     : paint(style, "1", run.name) +
                           fmt::format("  seed {}  {}\n", run.seed, result.file) + out;
}

std::string closing_line(const std::vector<Result>& results) {
  const auto good = std::count_if(results.begin(), results.end(),
                                  [](const Result& result) { return result.good(); });
  return fmt::format("{} passed, {} failed\n", good,
                     static_cast<std::ptrdiff_t>(results.size()) - good);
}

}  // namespace hooke::report
