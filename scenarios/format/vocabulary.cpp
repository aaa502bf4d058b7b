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
  std::string_view meaning;
};

/// In the order of a node's life.
constexpr std::array kFaultPoints{
    FaultPoint{"agent.started", true,
               "The agent has read its command line and is about to make its rendezvous."},
    FaultPoint{"rendezvous.joining", true, "The agent is about to join a round."},
    FaultPoint{"rendezvous.before_write", false,
               "The agent is about to write the shared state of the rendezvous to the store (every "
               "such write)."},
    FaultPoint{"rendezvous.joined", true,
               "The agent has its place in a round; next_rendezvous is about to return it."},
    FaultPoint{"legacy.setup", false,
               "With the older etcd rendezvous: the agent is about to count up the version that it "
               "will set up."},
    FaultPoint{"legacy.waiting", false,
               "With the older etcd rendezvous: the agent has said that it waits for a running "
               "job's next version."},
    FaultPoint{"legacy.joined", false,
               "With the older etcd rendezvous: the agent has entered a version that is not "
               "complete yet."},
    FaultPoint{"legacy.confirmed", false,
               "With the older etcd rendezvous: the agent has confirmed its seat, and waits until "
               "all have."},
    FaultPoint{"agent.joined", true,
               "The agent is back from the rendezvous and has no ranks for its workers yet."},
    FaultPoint{"agent.ranks_assigned", true,
               "The agent has given its workers their ranks and has not started them yet."},
    FaultPoint{"agent.workers_started", true,
               "The agent has started all its workers of this round."},
    FaultPoint{"agent.stopping", true, "The agent is about to stop its workers."},
    FaultPoint{"agent.exit_barrier", true,
               "The agent's workers are done; it is about to wait for the other agents in the exit "
               "barrier."},
    FaultPoint{"agent.closing", false,
               "The agent's work is over, and it is about to part from the rendezvous in whatever "
               "manner is right."},
    FaultPoint{"rendezvous.closing", true,
               "The agent is about to close the rendezvous, or to leave it."},
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

std::string_view meaning_of_fault_point(std::string_view name) {
  const auto found = std::find_if(kFaultPoints.begin(), kFaultPoints.end(),
                                  [&](const FaultPoint& point) { return point.name == name; });
  return found == kFaultPoints.end() ? std::string_view{} : found->meaning;
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
