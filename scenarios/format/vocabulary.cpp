// Words, roles, fault points and signals by their names.
#include "scenarios/format/vocabulary.h"

#include <algorithm>
#include <array>

#include "scenarios/format/fault_words.h"

namespace hooke::scenario {
namespace {

constexpr std::array<std::string_view, 3> kRoles{"store_host", "rank0", "all"};

/// In the order of a node's life.
constexpr std::array<std::string_view, 15> kFaultPoints{
    "agent.started",      "rendezvous.joining",   "rendezvous.before_write", "rendezvous.joined",
    "legacy.setup",       "legacy.waiting",       "legacy.joined",           "legacy.confirmed",
    "agent.joined",       "agent.ranks_assigned", "agent.workers_started",   "agent.stopping",
    "agent.exit_barrier", "agent.closing",        "rendezvous.closing"};

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
  return kFaultPoints;
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
