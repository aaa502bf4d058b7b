// The terminal table and the explanations below it.
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "reports/text.h"

namespace hooke::report {
namespace {

std::string verdict_word(const Result& result) {
  if (!result.run.harness_failure.empty()) return "HARNESS";
  if (!result.supported()) return "cannot";
  if (!result.conclusive()) return "inconclusive";
  if (result.must_fail) return result.good() ? "canary" : "CANARY";
  return result.good() ? "passed" : "FAILED";
}

}  // namespace

bool is_unexpected(const scenario::RunReport& run, std::size_t violation) {
  return std::any_of(run.unmet.begin(), run.unmet.end(),
                     [violation](const auto& unmet) { return unmet.violation == violation; });
}

std::string ending(const scenario::JobResult& job) {
  std::string agents;
  for (const auto& [outcome, count] : job.agents) {
    agents += agents.empty() ? fmt::format("{} agent{} {}", count, count == 1 ? "" : "s", outcome)
                             : fmt::format(", {} {}", count, outcome);
  }
  return fmt::format("job \"{}\": {} ({})", job.run_id, job.outcome, agents);
}

std::vector<TimelineNote> timeline_notes(const scenario::RunReport& run) {
  struct Injections {
    std::string what;
    std::size_t count = 0;
    std::uint64_t felt = 0;
    sim::Duration first{};
  };
  std::map<std::size_t, Injections> injections;
  for (const scenario::InjectedFault& fault : run.faults) {
    Injections& of_entry = injections[fault.entry];
    if (of_entry.count++ == 0) of_entry.first = fault.at.time_since_epoch();
    of_entry.what = fault.what;
    of_entry.felt += fault.felt;
  }
  std::vector<TimelineNote> notes;
  for (const auto& [entry, done] : injections) {
    if (done.felt != 0) continue;
    notes.push_back(
        {fmt::format("timeline.{} {}", entry, done.what),
         fmt::format("had no effect at {} s{}", seconds(done.first),
                     done.count == 1 ? "" : fmt::format(", nor later ({} times)", done.count))});
  }
  for (const scenario::NeverHappened& entry : run.never_happened) {
    notes.push_back({fmt::format("timeline.{} {}", entry.entry, entry.what),
                     (entry.why.starts_with("it happened") ? "" : "never happened: ") + entry.why});
  }
  return notes;
}

std::string table_head(const Style& style, std::size_t name_width) {
  return paint(style, "1",
               fmt::format("{:<12}  {}  {:>6}  {:>10}  {:>8}  {:>11}  {}\n", "verdict",
                           pad("scenario", name_width), "rounds", "virtual", "wall", "events",
                           "trace hash"));
}

std::string row(const Result& result, const Style& style, std::size_t name_width) {
  const scenario::RunReport& run = result.run;
  const char* colour = !result.supported() || !result.conclusive()      ? "33"
                       : !result.good() || !run.harness_failure.empty() ? "31;1"
                                                                        : "32";
  return paint(style, colour, fmt::format("{:<12}", verdict_word(result))) +
         fmt::format("  {}  {:>6}  {:>10}  {:>8}  {:>11}  {}\n",
                     pad(fit(run.name, name_width), name_width), run.rounds,
                     short_time(run.world_time), short_time(run.wall_time), grouped(run.events),
                     run.hash);
}

namespace {

/// Results by scenario file, in the order in which the files were first run.
std::vector<std::vector<const Result*>> by_file(const std::vector<Result>& results) {
  std::vector<std::vector<const Result*>> out;
  for (const Result& result : results) {
    const auto found = std::find_if(out.begin(), out.end(), [&](const auto& group) {
      return group.front()->file == result.file;
    });
    if (found == out.end()) {
      out.push_back({&result});
    } else {
      found->push_back(&result);
    }
  }
  return out;
}

bool same_verdict(const std::vector<const Result*>& group) {
  std::optional<bool> verdict;
  for (const Result* const result : group) {
    if (!result->supported() || !result->conclusive()) continue;
    if (verdict && *verdict != result->good()) return false;
    verdict = result->good();
  }
  return true;
}

}  // namespace

std::size_t differing(const std::vector<Result>& results) {
  const auto groups = by_file(results);
  return static_cast<std::size_t>(std::count_if(
      groups.begin(), groups.end(), [](const auto& group) { return !same_verdict(group); }));
}

std::string worlds_table(const std::vector<Result>& results, const Style& style) {
  constexpr std::size_t kColumn = 28;
  const auto groups = by_file(results);
  std::size_t name_width = 8;
  for (const auto& group : groups)
    name_width = std::max(name_width, group.front()->run.name.size());
  std::string head = pad("scenario", name_width);
  if (!groups.empty()) {
    for (const Result* const result : groups.front()) head += "  " + pad(result->world, kColumn);
  }
  std::string out = paint(style, "1", head + "  same\n");
  for (const auto& group : groups) {
    out += pad(group.front()->run.name, name_width);
    for (const Result* const result : group) {
      const std::string cell =
          result->supported() ? fmt::format("{:<7} {:>2} rounds {:>8}", verdict_word(*result),
                                            result->run.rounds, short_time(result->run.world_time))
                              : "cannot: " + result->run.unsupported;
      const char* colour = !result->supported() || !result->conclusive() ? "33"
                           : result->good()                              ? "32"
                                                                         : "31;1";
      out += "  " + paint(style, colour, pad(fit(cell, kColumn), kColumn));
    }
    out += same_verdict(group) ? "  yes\n" : "  " + paint(style, "31;1", "NO") + "\n";
  }
  return out;
}

std::string explanation(const Result& result, const Style& style, bool expected_too, bool alone) {
  const scenario::RunReport& run = result.run;
  const std::string indent(10, ' ');
  std::string out;
  const auto line = [&](const char* colour, const std::string& head, const std::string& text) {
    out += paint(style, colour, "  " + head) + "\n" + indent +
           wrap(text, std::max<std::size_t>(style.width, 40) - 2, indent) + "\n";
  };
  if (!run.harness_failure.empty()) line("31", "the harness itself failed", run.harness_failure);
  if (!result.supported()) {
    line("33", "unsupported in this world", run.unsupported);
    return paint(style, "1", run.name) + fmt::format("  {} in {}\n", result.file, result.world) +
           out;
  }
  if (run.trace_difference) {
    line("31",
         fmt::format("two runs of seed {} differ at event {}", run.seed,
                     run.trace_difference->event_number),
         "first run:  " + run.trace_difference->first);
    out += indent + "second run: " + run.trace_difference->second + "\n";
  }
  if (!result.conclusive()) line("33", "inconclusive", run.inconclusive);
  for (const scenario::Unmet& unmet : run.unmet) {
    if (!unmet.violation) line("31", unmet.expectation, unmet.reason);
  }
  for (std::size_t i = 0; i < run.violations.size(); ++i) {
    const properties::Violation& violation = run.violations[i];
    const bool unexpected = is_unexpected(run, i);
    const bool unavoidable = !violation.limit.empty();
    if (!unexpected && result.good() && !expected_too && !(alone && unavoidable)) continue;
    line(unexpected ? "31" : "33",
         fmt::format("{} violated at {} s (event {}){}", violation.invariant,
                     seconds(violation.at.time_since_epoch()), violation.event.value,
                     unavoidable  ? ", unavoidable: " + violation.limit
                     : unexpected ? ""
                                  : ", allowed by expect"),
         violation.witness);
  }
  for (const TimelineNote& note : timeline_notes(run)) line("33", note.entry, note.text);
  if (!run.logs.empty()) line("0", "what its processes wrote is in", run.logs);
  if (out.empty() && !alone) return out;
  std::string head =
      paint(style, "1", run.name) +
      (result.world == "sim" ? fmt::format("  seed {}  {}\n", run.seed, result.file)
                             : fmt::format("  world {}  {}\n", result.world, result.file));
  for (const scenario::JobResult& job : run.jobs) head += "  " + ending(job) + "\n";
  return head + out;
}

std::string closing_line(const std::vector<Result>& results) {
  const auto good = std::count_if(results.begin(), results.end(), [](const Result& result) {
    return result.supported() && result.good();
  });
  const auto cannot = std::count_if(results.begin(), results.end(),
                                    [](const Result& result) { return !result.supported(); });
  const auto cut = std::count_if(results.begin(), results.end(), [](const Result& result) {
    return result.supported() && !result.conclusive();
  });
  const auto failed = static_cast<std::ptrdiff_t>(results.size()) - good - cannot - cut;
  return fmt::format("{} passed, {} failed", good, failed) +
         (cut == 0 ? "" : fmt::format(", {} inconclusive", cut)) +
         (cannot == 0 ? "\n" : fmt::format(", {} unsupported in that world\n", cannot));
}

}  // namespace hooke::report
