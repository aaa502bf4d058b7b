#pragma once
// The ledger of hindrances: for which spans which agents lacked which resource, and by which fault.
// Invariants ask it one question: could this agent, with these needs, do something from here to
// there? There is no other excuse. Its entries follow from the faults on the trace and their lines
// in fault_effects.h.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/invariants/fault_effects.h"
#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::properties {

/// An agent as the ledger knows it.
struct Claimant {
  sim::NodeId node{};
  sim::Pid pid{};
  /// A request that a hindrance of path or store has caught is answered, or given up, so much later
  /// than the hindrance is over: the agent's read time-out.
  sim::Duration caught{};
  /// When its process ended: what begins to hinder then or later does not hinder it.
  sim::WorldTime until = sim::WorldTime::max();
};

/// One fault, from the moment when it hinders to its end.
struct Hindrance {
  const FaultEffect* effect = nullptr;
  /// Its number on the trace, below 0 where it is of etcd and not of the world; nullopt: none.
  std::optional<std::int64_t> fault;
  std::string target;                         ///< in the world's words: "c", "a -> b"
  std::optional<sim::WorldTime> from;         ///< nullopt: it has not changed anything yet
  std::optional<sim::WorldTime> to;           ///< planned, then actual; nullopt: until it is healed
  std::vector<sim::NodeId> side, other_side;  ///< machines; empty: all
  bool loopback = false;                      ///< the path is that of a machine to itself
  std::optional<sim::Pid> pid;

  /// "net_partition of a from 12.000 s on".
  [[nodiscard]] std::string text() const;
  /// "the path to the store (net_partition)": the same for all worlds.
  [[nodiscard]] std::string kind_text() const;
};

/// From the moment when something begins to hinder an agent to the moment when nothing does.
struct Disturbance {
  sim::WorldTime from{}, to{};
};

class Ledger {
 public:
  /// A fault begins. `lasts` zero: until it ends, or no time at all where its kind is
  /// instantaneous. `node_called` finds a machine by its name.
  template <class NodeCalled>
  void begin(std::int64_t fault, std::string_view kind, std::string_view target, sim::WorldTime at,
             sim::Duration lasts, NodeCalled node_called);
  /// Null: it hinders nothing. One that hinders only when it is felt has an entry for each time.
  const Hindrance* felt(std::int64_t fault, sim::WorldTime at);
  /// A fault ends; what it has slowed down goes on to be late until `over`.
  void end(std::int64_t fault, sim::WorldTime over);
  /// A process does not run for a while, though no fault stops it.
  void hold_up(sim::NodeId node, sim::Pid pid, sim::WorldTime at, sim::WorldTime over);
  /// No rendezvous store serves any more; one serves again.
  void store_gone(sim::WorldTime at);
  void store_back(sim::WorldTime at);
  /// A process serves a rendezvous store. When it does not run, no agent is answered.
  void served_by(sim::NodeId machine, sim::Pid pid) {
    store_machines_.insert(machine);
    servers_.insert({machine, pid});
  }
  /// The fault stops the clock of the store besides.
  void leases_stopped(std::int64_t fault);
  void rank_shared(sim::WorldTime at);
  /// A process serves a store of its own beside that of its job from now on; not any more.
  void store_of_its_own(sim::NodeId node, sim::Pid pid, sim::WorldTime at);
  void one_store_again(sim::NodeId node, sim::Pid pid, sim::WorldTime at);
  /// The process that serves the store is killed, or told to end, from outside.
  void store_taken(sim::WorldTime at);

  /// Every entry, in the order in which the faults began.
  [[nodiscard]] const std::vector<Hindrance>& all() const { return hindrances_; }
  /// Null: `who` could, all the time. Else a hindrance that overlaps [from, to] and takes one of
  /// `needs` from it; the one that begins first.
  [[nodiscard]] const Hindrance* find(const Claimant& who, Needs needs, sim::WorldTime from,
                                      sim::WorldTime to) const;
  /// The end of the first span of `bound`, not before `since`, in which nothing hindered `who`. A
  /// worker that cannot be killed costs kGiveUp.
  /// What hinders the path or the store takes the time for a caught request besides. Not before
  /// `reached`, to which others have put it off: until then `who` may be hindered, too. nullopt: a
  /// hindrance has no end so far.
  [[nodiscard]] std::optional<sim::WorldTime> deadline(const Claimant& who, Needs needs,
                                                       sim::WorldTime since, sim::Duration bound,
                                                       sim::WorldTime reached = {}) const;
  /// The hindrance for which there is no deadline; null: there is one.
  [[nodiscard]] const Hindrance* endless(const Claimant& who, Needs needs) const;
  /// What hindered `who` last before `at`, if it was over no longer before than the time for a
  /// caught request. Hindrances without a longer pause between them are one disturbance.
  [[nodiscard]] std::optional<Disturbance> disturbance(const Claimant& who, Needs needs,
                                                       sim::WorldTime at) const;
  /// A name meant another machine than it should, at some time between the two.
  [[nodiscard]] bool a_name_led_astray(sim::WorldTime from, sim::WorldTime to) const;
  /// The clocks of a machine run at a rate of their own, by a tenth at most: spans that they
  /// measure are a tenth longer or shorter. nullopt: of any machine.
  [[nodiscard]] bool drifts(std::optional<sim::NodeId> machine) const;
  /// For how long before `at` the clocks of some machine have stood still altogether.
  [[nodiscard]] sim::Duration clock_stood_still(sim::WorldTime at) const;
  /// Null: at that instant no process that served the store was killed or told to end.
  [[nodiscard]] const Hindrance* taken_at(sim::WorldTime at) const;
  /// What stood in the store, or a part of it, was lost at an instant from `since` on.
  [[nodiscard]] const Hindrance* contents_lost(sim::WorldTime since) const;

 private:
  [[nodiscard]] bool reaches(const Hindrance& hindrance, const Claimant& who) const;
  [[nodiscard]] bool applies(const Hindrance& hindrance, const Claimant& who, Needs needs) const {
    return hindrance.from && *hindrance.from < who.until &&
           (hindrance.effect->hinders & needs) != 0 && reaches(hindrance, who);
  }
  /// One of `needs` has been taken from `who` by `until`.
  [[nodiscard]] bool applies_until(Needs needs, const Claimant& who, sim::WorldTime until) const;
  [[nodiscard]] static sim::Duration caught(const Hindrance& hindrance, const Claimant& who);
  Hindrance& add(std::string_view kind, std::string_view target);
  /// The process that does not run serves a store: so does that.
  void perhaps_silence_store(const Hindrance& stopped);
  /// Takes a target apart: "a", "a pid 100", "a,b <-> c d".
  template <class NodeCalled>
  static void aim(Hindrance& hindrance, NodeCalled node_called);

  std::vector<Hindrance> hindrances_;  ///< in the order in which the faults began
  std::set<sim::NodeId> store_machines_;
  std::set<std::pair<sim::NodeId, sim::Pid>> servers_;
};

// ---- how a target names machines

template <class NodeCalled>
void Ledger::aim(Hindrance& hindrance, NodeCalled node_called) {
  std::string_view rest = hindrance.target;
  bool behind_arrow = false;
  bool is_pid = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) continue;
    if (word == "->" || word == "<->") {
      behind_arrow = true;
    } else if (word == "pid") {
      is_pid = true;
    } else if (is_pid) {
      std::int32_t number = 0;
      for (const char digit : word) number = number * 10 + (digit - '0');
      hindrance.pid = sim::Pid{number};
    } else if (const auto node = node_called(word)) {
      (behind_arrow ? hindrance.other_side : hindrance.side).push_back(*node);
    }
  }
  hindrance.loopback = hindrance.side.size() == 1 && hindrance.side == hindrance.other_side;
}

template <class NodeCalled>
void Ledger::begin(std::int64_t fault, std::string_view kind, std::string_view target,
                   sim::WorldTime at, sim::Duration lasts, NodeCalled node_called) {
  if (find_effect(kind) == nullptr) return;
  Hindrance& hindrance = add(kind, target);
  hindrance.fault = fault;
  aim(hindrance, node_called);
  const Span span = hindrance.effect->span;
  if (span == Span::instant || span == Span::until_over) hindrance.from = at;
  if (span == Span::instant) hindrance.to = at;
  if (span != Span::instant && lasts > sim::Duration::zero()) hindrance.to = at + lasts;
  perhaps_silence_store(Hindrance(hindrance));
}

}  // namespace hooke::properties
