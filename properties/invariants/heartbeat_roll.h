#pragma once
// Which workers an agent waits for, and when each has last been heard.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "properties/invariants/judge.h"

namespace hooke::properties {

/// What an agent said when it began to wait for a worker.
struct ExpectedWorker {
  AgentId agent = kNoAgent;
  ProcessKey process;
  std::int64_t rank = -1;
  sim::Duration deadline{};
  sim::Duration first_beat{};  ///< below 0: any
  std::string policy;
  std::optional<sim::WorldTime> heard;  ///< its latest beat
  sim::WorldTime since{};               ///< that, else when it was expected
  int late_beats = 0;                   ///< in a row, each nearly when it would have been lost

  /// How long it may be silent at present; nullopt: for ever.
  [[nodiscard]] std::optional<sim::Duration> patience() const {
    if (heard) return deadline;
    return first_beat < sim::Duration::zero() ? std::nullopt : std::optional(first_beat);
  }
  /// A beat has come. True: again and again only when the worker may hardly be silent any longer.
  bool beat(sim::WorldTime at) {
    late_beats = heard && at - since >= deadline * 9 / 10 ? late_beats + 1 : 0;
    heard = since = at;
    return late_beats == kLateBeats;
  }
  static constexpr int kLateBeats = 3;
  /// That is over, or but one `part` of it.
  [[nodiscard]] bool is_late(sim::WorldTime at, int part) const {
    const auto span = patience();
    return span && at - since >= *span - *span / part;
  }
};

/// The workers that are waited for, by the names under which they beat.
class HeartbeatRoll {
 public:
  /// Takes an event of heartbeats in; the worker it is about, null for one no agent waits for.
  ExpectedWorker* take(const sim::Event& event, AgentId agent) {
    const std::string name(text(event, "worker"));
    if (event.type == &ev::heartbeat_expected) {
      ExpectedWorker& worker = workers_[name];
      worker = {agent,
                {event.node, pid(event, "worker_pid")},
                number(event, "rank"),
                sim::Duration(number(event, "deadline")),
                sim::Duration(number(event, "first_beat")),
                std::string(text(event, "policy")),
                std::nullopt,
                event.at};
      return &worker;
    }
    const auto found = workers_.find(name);
    return found == workers_.end() ? nullptr : &found->second;
  }
  /// Calls `each(name, worker)` for those that match, and forgets them.
  template <class Match, class Each>
  void drop(Match match, Each each) {
    std::erase_if(workers_, [&](const auto& entry) {
      if (!match(entry.second)) return false;
      each(entry.first, entry.second);
      return true;
    });
  }
  template <class Match>
  void drop(Match match) {
    drop(match, [](const std::string&, const ExpectedWorker&) {});
  }

  /// Whether `match` holds for one of them.
  template <class Match>
  [[nodiscard]] bool any(Match match) const {
    return std::ranges::any_of(workers_, [&](const auto& entry) { return match(entry.second); });
  }

 private:
  std::map<std::string, ExpectedWorker> workers_;
};

}  // namespace hooke::properties
