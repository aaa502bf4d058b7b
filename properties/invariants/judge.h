#pragma once
// What the invariants share: keeping violations, naming nodes, and obligations that must be met by
// a deadline.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/invariants/invariant.h"

namespace hooke::properties {

/// One process: a node and a number. Reuse of the number is a new process with a later birth.
struct ProcessKey {
  sim::NodeId node{};
  std::int64_t pid = 0;
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};
inline ProcessKey process_of(const sim::Event& event) {
  return {event.node, event.pid.value};
}

/// "12.345 s".
std::string seconds_text(sim::WorldTime at);
std::string seconds_text(sim::Duration span);

inline std::int64_t number(const sim::Event& event, std::string_view field) {
  return event.field(field).number();
}
inline std::string text(const sim::Event& event, std::string_view field) {
  return std::string(event.field(field).text());
}
inline sim::Duration span(const sim::Event& event, std::string_view field) {
  return sim::Duration(number(event, field));
}

/// An invariant that keeps its violations.
class Judge : public Invariant {
 public:
  Judge(std::string_view id, std::string_view meaning) : id_(id), meaning_(meaning) {}
  [[nodiscard]] std::string_view id() const final { return id_; }
  [[nodiscard]] std::string_view meaning() const final { return meaning_; }
  [[nodiscard]] const std::vector<Violation>& violations() const final { return violations_; }
  void finish(const RunFacts& facts) override { static_cast<void>(facts); }

 protected:
  /// Keeps the first few: later ones are usually consequences.
  void broken(const sim::Event& event, std::string witness) {
    broken(event.at, event.id, std::move(witness));
  }
  void broken(sim::WorldTime at, sim::EventId event, std::string witness) {
    if (violations_.size() < kKept)
      violations_.push_back({std::string(id_), std::move(witness), at, event});
  }

 private:
  static constexpr std::size_t kKept = 5;
  std::string_view id_;
  std::string_view meaning_;
  std::vector<Violation> violations_;
};

/// Who is who in a job, followed from the trace: agents, their settings, their phase and round.
class Roll {
 public:
  enum class Phase : unsigned char {
    starting,
    joining,
    running,
    stopping,
    barrier,
    finished,
    dead
  };
  struct Agent {
    std::string run_id;
    std::string name;  ///< the node's name once its descriptor is known
    Phase phase = Phase::starting;
    std::string state;  ///< of its worker group
    std::int64_t round = -1;
    std::int64_t rank = -1;
    std::int64_t min_nodes = 0, max_nodes = 0, max_restarts = 0;
    sim::Duration join{}, last_call{}, close{}, keep_alive{}, read_timeout{}, monitor{},
        exit_barrier{};
    bool signalled = false;
    std::string outcome;
    sim::WorldTime since{};  ///< when the phase began
    [[nodiscard]] bool alive() const { return phase != Phase::dead; }
    [[nodiscard]] bool active() const { return phase != Phase::dead && phase != Phase::finished; }
  };

  void on_event(const sim::Event& event);
  /// Null when the process is no agent.
  [[nodiscard]] const Agent* find(ProcessKey process) const;
  [[nodiscard]] const std::map<ProcessKey, Agent>& agents() const { return agents_; }
  /// "agent of node b (pid 100)".
  [[nodiscard]] std::string describe(ProcessKey process) const;

 private:
  std::map<ProcessKey, Agent> agents_;
};

/// Things that must happen by a deadline, each known by a key.
template <class Key>
class Obligations {
 public:
  struct Due {
    sim::WorldTime deadline{};
    std::string witness;
  };
  void add(const Key& key, sim::WorldTime deadline, std::string witness) {
    due_.try_emplace(key, Due{deadline, std::move(witness)});
  }
  void cancel(const Key& key) { due_.erase(key); }
  [[nodiscard]] bool pending(const Key& key) const { return due_.contains(key); }
  /// It has happened; the obligation if that was too late.
  std::vector<Due> meet(const Key& key, sim::WorldTime at) {
    std::vector<Due> late;
    const auto found = due_.find(key);
    if (found == due_.end()) return late;
    if (at > found->second.deadline) late.push_back(found->second);
    due_.erase(found);
    return late;
  }
  /// Obligations whose deadline had passed when the run ended.
  [[nodiscard]] std::vector<Due> overdue(sim::WorldTime end) const {
    std::vector<Due> late;
    for (const auto& [key, due] : due_) {
      if (end > due.deadline) late.push_back(due);
    }
    return late;
  }

 private:
  std::map<Key, Due> due_;
};

}  // namespace hooke::properties
