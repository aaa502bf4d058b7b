// The terminal table and the explanations below it.
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "reports/findings.h"
#include "reports/text.h"
#include "scenarios/outcome/severity.h"

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
  return scenario::weight_of(run, violation) == scenario::Weight::unexpected;
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

namespace {

/// The paragraphs of an explanation: a head, and a text indented below it.
class Paragraphs {
 public:
  explicit Paragraphs(const Style& style) : style_(style) {}

  void add(const char* colour, const std::string& head, const std::string& text) {
    text_ += paint(style_, colour, "  " + head) + "\n" + indent_ +
             wrap(text, std::max<std::size_t>(style_.width, 40) - 2, indent_) + "\n";
  }
  /// One more line of the last text.
  void add_line(const std::string& line) { text_ += indent_ + line + "\n"; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const Style& style_;
  const std::string indent_ = std::string(10, ' ');
  std::string text_;
};

void add_difference(Paragraphs& out, const scenario::RunReport& run) {
  if (!run.trace_difference) return;
  out.add("31",
          fmt::format("two runs of seed {} differ at event {}", run.seed,
                      run.trace_difference->event_number),
          "first run:  " + run.trace_difference->first);
  out.add_line("second run: " + run.trace_difference->second);
}

/// In a job of a thousand nodes one cause leaves a thousand expectations unmet.
void add_unmet_expectations(Paragraphs& out, const scenario::RunReport& run, bool all) {
  constexpr std::size_t kShown = 5;
  std::size_t count = 0;
  for (const scenario::Unmet& unmet : run.unmet) {
    if (unmet.violation) continue;
    if (++count <= kShown || all) out.add("31", unmet.expectation, unmet.reason);
  }
  if (count > kShown && !all) {
    out.add("31", fmt::format("and {} not met", counted(count - kShown, "more expectation")),
            "--explain shows them all");
  }
}

std::string head_of(const Finding& finding) {
  const std::string more =
      finding.count == 1 ? "" : fmt::format(", and {} more", finding.count - 1);
  const std::string standing = !finding.limit.empty() ? ", unavoidable: " + finding.limit
                               : finding.weight == Weight::unexpected ? ""
                                                                      : ", allowed by expect";
  // There is none where what was expected never came.
  const std::string event = finding.first.event == sim::kNoEvent
                                ? ""
                                : fmt::format(" (event {})", finding.first.event.value);
  return fmt::format("{} violated at {} s{}{}{}", finding.invariant,
                     seconds(finding.first.at.time_since_epoch()), event, more, standing);
}

/// What to do about a run that failed; empty where no command could be named.
std::string next_command(const Result& result) {
  const bool failed = result.supported() && result.conclusive() && !result.good();
  const bool nameless = result.file.empty() || result.file == "-";
  if (!failed || nameless || result.must_fail || result.world != "sim") return "";
  if (!result.run.harness_failure.empty()) return "";
  const std::string run = shell_word(result.file) + result.replay;
  return result.run.violations.empty()
             ? "  next: hooke run " + run + " --timeline\n"
             : "  next: hooke explain " + run + "   (why, and what averts it)\n";
}

}  // namespace

std::string explanation(const Result& result, const Style& style, bool expected_too, bool alone) {
  const scenario::RunReport& run = result.run;
  Paragraphs out(style);
  if (!run.harness_failure.empty()) out.add("31", "the harness itself failed", run.harness_failure);
  if (!result.supported()) {
    out.add("33", "unsupported in this world", run.unsupported);
    return paint(style, "1", run.name) + fmt::format("  {} in {}\n", result.file, result.world) +
           out.text();
  }
  add_difference(out, run);
  if (!result.conclusive()) out.add("33", "inconclusive", run.inconclusive);
  add_unmet_expectations(out, run, expected_too);
  std::vector<std::string> as_expected;
  for (const Finding& finding : findings_of(run)) {
    const bool unexpected = finding.weight == Weight::unexpected;
    const bool unavoidable = !finding.limit.empty();
    if (!unexpected && result.good() && !expected_too && !(alone && unavoidable)) {
      as_expected.push_back(finding.invariant);
    } else {
      out.add(unexpected ? "31" : "33", head_of(finding), finding.first.witness);
    }
  }
  if (alone && !as_expected.empty())
    out.add("33", "violated, as the scenario expects; --explain says how", joined(as_expected));
  if (alone && result.must_fail && result.good())
    out.add("32", "passed", "because it failed: this scenario must");
  for (const TimelineNote& note : timeline_notes(run)) out.add("33", note.entry, note.text);
  if (!run.logs.empty()) out.add("0", "what its processes wrote is in", run.logs);
  if (out.text().empty() && !alone) return "";
  std::string head =
      paint(style, "1", run.name) +
      (result.world == "sim" ? fmt::format("  seed {}  {}\n", run.seed, result.file)
                             : fmt::format("  world {}  {}\n", result.world, result.file));
  for (const scenario::JobResult& job : run.jobs) head += "  " + ending(job) + "\n";
  return head + out.text() + next_command(result);
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
