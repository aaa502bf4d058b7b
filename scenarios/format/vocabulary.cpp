// Words, roles, fault points and signals by their names.
#include "scenarios/format/vocabulary.h"

#include <algorithm>
#include <array>

#include "scenarios/format/fault_words.h"

namespace hooke::scenario {
namespace {

constexpr std::array<std::string_view, 3> kRoles{"store_host", "rank0", "all"};

struct FaultPoint {
  std::string_view name;
  bool torchrun = false;  ///< its code has that place, too
};

/// In the order of a node's life.
constexpr std::array kFaultPoints{
    FaultPoint{"agent.started", true},
    FaultPoint{"rendezvous.joining", true},
    FaultPoint{"rendezvous.before_write"},
    FaultPoint{"rendezvous.joined", true},
    FaultPoint{"legacy.setup"},
    FaultPoint{"legacy.waiting"},
    FaultPoint{"legacy.joined"},
    FaultPoint{"legacy.confirmed"},
    FaultPoint{"agent.joined", true},
    FaultPoint{"agent.ranks_assigned", true},
    FaultPoint{"agent.workers_started", true},
    FaultPoint{"agent.stopping", true},
    FaultPoint{"agent.exit_barrier", true},
    FaultPoint{"agent.closing"},
    FaultPoint{"rendezvous.closing", true},
};

constexpr bool any(const FaultPoint&) {
  return true;
}

constexpr bool of_torchrun(const FaultPoint& point) {
  return point.torchrun;
}

/// The names of the points that `wanted` holds for, in the table's order.
template <auto wanted>
constexpr auto names_of_points() {
  std::array<std::string_view, std::count_if(kFaultPoints.begin(), kFaultPoints.end(), wanted)>
      names;
  std::size_t count = 0;
  for (const FaultPoint& point : kFaultPoints) {
    if (wanted(point)) names[count++] = point.name;
  }
  return names;
}

constexpr auto kNamesOfPoints = names_of_points<any>();
constexpr auto kPointsOfTorchrun = names_of_points<of_torchrun>();

}  // namespace

std::span<const Word> vocabulary() {
  return kWords;
}

std::span<const Word> words_of_every_store() {
  const auto first =
      std::find_if(kWords.begin(), kWords.end(), [](const Word& word) { return word.etcd; });
  return {kWords.begin(), first};
}

TimelineEntry with_usual(const Word& word, TimelineEntry entry) {
  if (!entry.duration) entry.duration = word.usual.duration;
  if (!entry.span) entry.span = word.usual.span;
  if (!entry.amount) entry.amount = word.usual.amount;
  if (!entry.signal && !word.usual.signal.empty()) entry.signal = word.usual.signal;
  return entry;
}

const Word* find_word(std::string_view name) {
  for (const Word& word : kWords) {
    if (word.name == name) return &word;
  }
  return nullptr;
}

std::span<const std::string_view> roles() {
  return kRoles;
}

std::span<const std::string_view> fault_points() {
  return kNamesOfPoints;
}

std::span<const std::string_view> fault_points_of_torchrun() {
  return kPointsOfTorchrun;
}

std::optional<sim::Signal> signal_named(std::string_view name) {
  for (const sim::Signal signal : sim::kSignals) {
    const std::string_view full = to_string(signal);
    if (name == full || name == full.substr(3)) return signal;
  }
  return std::nullopt;
}

std::string_view present_event_name(std::string_view name) {
  if (name == "mark") return "coverage.point";
  if (name == "fault.felt") return "fault.took_effect";
  return name;
}

}  // namespace hooke::scenario
