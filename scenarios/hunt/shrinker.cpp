// All simplifications, again and again until none finds anything; then the words for what is left.
#include "scenarios/hunt/shrinker.h"

#include <algorithm>

#include "scenarios/hunt/shrink_search.h"
#include "scenarios/hunt/simplifications.h"
#include "scenarios/outcome/severity.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;

void simplify(ShrinkSearch& search) {
  leave_broken(search);
  cut_after_failure(search);
  std::size_t before = 0;
  bool named = false;
  do {
    before = search.steps().size();
    calm_choices(search);
    drop_timeline(search);
    drop_nodes(search);
    join_variants(search);
    drop_lines(search);
    replace_programs(search);
    lower_numbers(search);
    replace_triggers(search);
    if (search.steps().size() == before) drop_time_limit(search);
    if (search.steps().size() == before && !named) {
      name_choices(search);
      named = true;
    }
  } while (search.steps().size() != before && !search.over());
  order_timeline(search);
}

std::string meaning_of(const std::string& invariant) {
  for (const auto& each : properties::InvariantRegistry::with_builtins().make_all()) {
    if (each->id() == invariant) return std::string(each->meaning());
  }
  return {};
}

/// The invariants were violatedn in the run that a scenario file can name, the target's first.
std::vector<std::string> broken(const scenario::RunReport& report, const std::string& first) {
  std::vector<std::string> ids;
  if (!meaning_of(first).empty()) ids.push_back(first);
  for (const properties::Violation& violation : report.violations) {
    const std::string& id = violation.invariant;
    if (std::find(ids.begin(), ids.end(), id) == ids.end() && !meaning_of(id).empty()) {
      ids.push_back(id);
    }
  }
  return ids;
}

std::string ended(const std::string& text) {
  return text.ends_with('.') ? text : text + ".";
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  if (text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return ended(text);
}

std::string description_of(const Shrunk& shrunk, const std::string& invariant) {
  const std::string meaning = meaning_of(invariant);
  if (meaning.empty()) return sentence(shrunk.witness);
  return "Violates " + invariant + ": " + ended(shrunk.witness) +
         " The invariant: " + sentence(meaning);
}

}  // namespace

std::optional<FailureKind> target_of(const scenario::RunReport& report,
                                     const std::string& invariant) {
  if (invariant.empty() || invariant == "harness") {
    for (const FailureKind& kind : kinds_of(report)) {
      if (kind.invariant == "harness") return kind;
    }
  }
  std::optional<std::size_t> target;
  for (std::size_t i = 0; i < report.violations.size(); ++i) {
    if (!invariant.empty() && report.violations[i].invariant != invariant) continue;
    if (!target || scenario::severity_of(report, i) < scenario::severity_of(report, *target)) {
      target = i;
    }
  }
  return target ? std::optional(kind_of(report.violations[*target])) : std::nullopt;
}

std::optional<Shrunk> shrink(const Scenario& start, const ShrinkOptions& options,
                             const RunScenario& run) {
  ShrinkSearch search(start, options, run);
  if (!search.failed()) return std::nullopt;
  simplify(search);
  Shrunk out;
  out.scenario = search.scenario();
  out.witness =
      search.violation() == nullptr ? search.report().harness_failure : search.violation()->witness;
  out.minimal = !search.over();
  out.runs = search.runs();
  out.steps = search.steps();
  out.scenario.expect.violates = broken(search.report(), options.target.invariant);
  out.scenario.description = description_of(out, options.target.invariant);
  return out;
}

}  // namespace hooke::hunt
