// What a candidate has to pass, cheapest first: the loader, the comparison with the best, the
// memory of what was tried, and the run.
#include "scenarios/hunt/shrink_search.h"

#include <algorithm>
#include <limits>

#include "scenarios/format/duration.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/timeline.h"
#include "sim/kernel/trace_recorder.h"
#include "sim/port/fnv1a.h"

namespace hooke::hunt {
namespace {

using nlohmann::ordered_json;
using scenario::Scenario;

/// A start may take long; its successors should not take longer.
constexpr std::uint64_t kStepsFactor = 4;
constexpr std::uint64_t kStepsLeast = 200'000;

class NoteTaker final : public kernel::TraceSink {
 public:
  explicit NoteTaker(RunNotes& notes) : notes_(notes) {}
  void on_event(const sim::Event& event) override {
    const sim::Duration at = event.at.time_since_epoch();
    if (event.type == &scenario::events::timeline_acted) {
      notes_.acted.try_emplace(static_cast<std::size_t>(event.field("entry").number()), at);
    } else if (seen_.insert(event.type->name).second) {
      notes_.first_events.emplace_back(event.type->name, at);
    }
  }

 private:
  RunNotes& notes_;
  std::set<std::string_view> seen_;
};

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a > most - b ? most : a + b;
}

std::uint64_t absolute(std::int64_t number) {
  return number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                    : static_cast<std::uint64_t>(number);
}

std::uint64_t magnitude_of(const ordered_json& leaf) {
  if (leaf.is_number_integer()) return absolute(leaf.get<std::int64_t>());
  const auto span = scenario::parse_duration(leaf.get_ref<const std::string&>());
  return span ? absolute(span->count()) : 0;
}

/// Numbers below this key say how much happens; of the others, the settings, no smaller one is
/// simpler.
bool counts(const std::string& key) {
  return key != "seed" && key != "protocol" && key != "network" && key != "store" &&
         key != "worker_pool" && key != "peer_abort" && key != "slow_stop" && key != "clock";
}

void add_burden(const ordered_json& json, bool counting, Burden& burden) {
  if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) {
      const bool size = key == "min_nodes" || key == "max_nodes" || key == "max_restarts";
      add_burden(value, (counting && counts(key)) || size, burden);
    }
    // An empty list is a line, too.
    if (json.empty()) ++burden.lines;
    return;
  }
  ++burden.lines;
  if (!json.is_number_integer() && !json.is_string()) return;
  burden.digits += digits_of(json);
  if (counting) burden.magnitude = sum(burden.magnitude, magnitude_of(json));
}

/// A tape apart from the rest: it may be a thousand times as long.
std::string memory_of(const std::string& text, const std::optional<kernel::Tape>& tape) {
  std::string key = text;
  if (!tape) return key;
  sim::Fnv1a hash;
  for (const kernel::RecordedChoice& choice : *tape) {
    hash.text(choice.purpose);
    for (const std::uint64_t word : {choice.owner, choice.part, choice.occurrence, choice.value}) {
      hash.number(word);
    }
  }
  return key + std::to_string(tape->size()) + ":" + std::to_string(hash.value());
}

std::string text_of(Scenario scenario) {
  scenario.tape.reset();
  return scenario::write_scenario(scenario);
}

}  // namespace

std::uint64_t digits_of(const ordered_json& leaf) {
  std::string digits;
  if (leaf.is_number_integer()) {
    digits = leaf.dump();
  } else if (leaf.is_string() && scenario::parse_duration(leaf.get_ref<const std::string&>())) {
    digits = leaf.get<std::string>();
  }
  digits.erase(digits.find_last_of("0123456789") + 1);  // the unit; npos + 1 is 0
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits.size() - static_cast<std::size_t>(std::count(digits.begin(), digits.end(), '-'));
}

Burden burden_of(const ordered_json& json, const std::optional<kernel::Tape>& tape) {
  Burden burden;
  add_burden(json, true, burden);
  if (tape) burden.choices += 2 + tape->size();
  return burden;
}

ShrinkSearch::ShrinkSearch(const Scenario& start, const ShrinkOptions& options,
                           const RunScenario& run)
    : options_(options), run_(run) {
  Scenario bare = start;
  bare.description.clear();
  bare.references.clear();
  bare.canary = false;
  bare.expect = {};
  steps_max_ = scenario::RunOptions().steps_max;
  if (options.start) {
    // Loading it again is no matter of course: a scenario may have been made in memory.
    if (auto start_again = loaded(text_of(bare)); start_again && fails_alike(*options.start)) {
      auto& [scenario, json] = *start_again;
      const Burden burden = burden_of(json, bare.tape);
      scenario.tape = bare.tape;
      best_ = {std::move(scenario), std::move(json), burden, *options.start, {}};
      failed_ = true;
    }
  } else {
    failed_ = take(text_of(bare), bare.tape, Gain::waived, steps_max_, "the start");
    steps_.clear();
  }
  steps_max_ = kStepsFactor * best_.report.steps + kStepsLeast;
}

const properties::Violation* ShrinkSearch::violation() const {
  for (const properties::Violation& each : best_.report.violations) {
    if (options_.any_cause ? each.invariant == options_.target.invariant
                           : kind_of(each) == options_.target) {
      return &each;
    }
  }
  return nullptr;
}

bool ShrinkSearch::fails_alike(const scenario::RunReport& report) const {
  const std::vector<FailureKind> kinds = kinds_of(report);
  return std::any_of(kinds.begin(), kinds.end(), [&](const FailureKind& kind) {
    return options_.any_cause ? kind.invariant == options_.target.invariant
                              : kind == options_.target;
  });
}

bool ShrinkSearch::out_of_budget() {
  over_ = over_ || runs_ >= options_.runs_max || (options_.enough && options_.enough());
  return over_;
}

scenario::RunReport ShrinkSearch::run(const Scenario& scenario, std::uint64_t steps_max,
                                      RunNotes& notes, bool record) {
  ++runs_;
  NoteTaker taker(notes);
  scenario::RunOptions options;
  options.determinism_check = options_.target.invariant == "harness";
  options.steps_max = steps_max;
  options.record_tape = record;
  options.plugins = options_.plugins;
  options.sinks.push_back(&taker);
  return run_(scenario, options);
}

std::optional<std::pair<Scenario, ordered_json>> ShrinkSearch::loaded(
    const std::string& text) const {
  try {
    Scenario scenario = scenario::load_scenario(text, "candidate", options_.plugins);
    ordered_json json = ordered_json::parse(scenario::write_scenario(scenario));
    return std::pair(std::move(scenario), std::move(json));
  } catch (const scenario::ScenarioError&) {
    return std::nullopt;
  }
}

bool ShrinkSearch::take(const std::string& text, const std::optional<kernel::Tape>& tape, Gain gain,
                        std::uint64_t steps_max, const std::string& what) {
  if (over_) return false;
  auto candidate = loaded(text);
  if (!candidate) return false;
  auto& [scenario, json] = *candidate;
  const Burden burden = burden_of(json, tape);
  if (gain == Gain::needed && burden >= best_.burden) return false;
  if (!tried_.insert(memory_of(json.dump(), tape)).second && gain == Gain::needed) {
    return false;
  }
  if (out_of_budget()) return false;
  scenario.tape = tape;
  RunNotes notes;
  scenario::RunReport report = run(scenario, steps_max, notes, false);
  if (report.end == kernel::RunEnd::steps_exhausted || !fails_alike(report)) return false;
  best_ = {std::move(scenario), std::move(json), burden, std::move(report), std::move(notes)};
  steps_.push_back({what, runs_});
  if (options_.on_step) options_.on_step(steps_.back());
  return true;
}

bool ShrinkSearch::attempt(const ordered_json& candidate, const std::string& what) {
  return take(candidate.dump(), best_.scenario.tape, Gain::needed, steps_max_, what);
}

bool ShrinkSearch::attempt(const Scenario& candidate, const std::string& what) {
  return take(text_of(candidate), candidate.tape, Gain::needed, steps_max_, what);
}

bool ShrinkSearch::step_aside(const Scenario& candidate, const std::string& what) {
  return take(text_of(candidate), candidate.tape, Gain::waived, steps_max_, what);
}

bool ShrinkSearch::attempt_within(std::uint64_t factor, const ordered_json& candidate,
                                  const std::string& what) {
  return take(candidate.dump(), best_.scenario.tape, Gain::needed,
              factor * best_.report.steps + kStepsLeast, what);
}

std::optional<kernel::Tape> ShrinkSearch::record() {
  if (out_of_budget()) return std::nullopt;
  RunNotes notes;
  return run(best_.scenario, steps_max_, notes, true).tape;
}

void ShrinkSearch::go_back(Best best) {
  best_ = std::move(best);
}

}  // namespace hooke::hunt
