// Schedule, seed and tape: what makes a run random, and what of it the failure needs.
#include <fmt/format.h>

#include <functional>
#include <set>

#include "scenarios/hunt/simplification_steps.h"
#include "scenarios/hunt/simplifications.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;

constexpr std::uint64_t kSeedsTried = 6;
/// A tape of more choices than that says less than a seed.
constexpr std::size_t kNamedChoicesMax = 8;

void calm_seed(ShrinkSearch& search) {
  for (std::uint64_t seed = 0; seed < kSeedsTried; ++seed) {
    Scenario candidate = search.scenario();
    candidate.seed = seed;
    candidate.tape.reset();
    if (search.attempt(candidate, fmt::format("seed {}", seed))) return;
  }
}

bool drop_choices(ShrinkSearch& search, const std::string& what,
                  const std::function<bool(const kernel::RecordedChoice&, std::size_t)>& gone) {
  Scenario candidate = search.scenario();
  kernel::Tape kept;
  for (std::size_t i = 0; i < candidate.tape->size(); ++i) {
    if (!gone((*candidate.tape)[i], i)) kept.push_back((*candidate.tape)[i]);
  }
  const std::size_t count = candidate.tape->size() - kept.size();
  candidate.tape = std::move(kept);
  return search.attempt(candidate, fmt::format("without {} choices{}", count, what));
}

void shrink_tape(ShrinkSearch& search) {
  if (drop_choices(search, "", [](const auto&, std::size_t) { return true; })) return;
  std::set<std::string> purposes;
  for (const kernel::RecordedChoice& choice : *search.scenario().tape) {
    purposes.insert(choice.purpose);
  }
  for (const std::string& purpose : purposes) {
    drop_choices(search, " of " + purpose, [&](const kernel::RecordedChoice& choice, std::size_t) {
      return choice.purpose == purpose;
    });
  }
  drop_chunks([&] { return search.scenario().tape->size(); },
              [&](std::size_t first, std::size_t count) {
                return drop_choices(search, "", [&](const auto&, std::size_t i) {
                  return i >= first && i < first + count;
                });
              });
}

}  // namespace

void calm_choices(ShrinkSearch& search) {
  if (search.scenario().schedule != kernel::Schedule()) {
    for (const bool with_tape : {false, true}) {
      Scenario candidate = search.scenario();
      candidate.schedule = {};
      if (!with_tape) candidate.tape.reset();
      if (search.attempt(candidate, "first in, first out")) break;
    }
  }
  const Scenario& best = search.scenario();
  if (best.tape) {
    Scenario candidate = best;
    candidate.tape.reset();
    search.attempt(candidate, "without the tape");
  }
  if (best.tape || best.seed >= kSeedsTried) calm_seed(search);
  if (best.tape) shrink_tape(search);
}

void name_choices(ShrinkSearch& search) {
  if (search.scenario().schedule == kernel::Schedule() || search.scenario().tape) return;
  const ShrinkSearch::Best before = search.best();
  const std::optional<kernel::Tape> tape = search.record();
  if (!tape) return;
  Scenario candidate = search.scenario();
  candidate.tape = tape;
  if (search.step_aside(candidate, "the choices by name")) shrink_tape(search);
  if (search.scenario().tape && search.scenario().tape->size() > kNamedChoicesMax) {
    search.go_back(before);
  }
}

}  // namespace hooke::hunt
