#pragma once
// Writes traces by hand for tests of invariants: a script of what agents and workers did, in their
// words, becomes the events that the simulated world would have put on the trace, and all built-in
// invariants judge them.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/observe/trace_events.h"
#include "properties/invariants/invariant_set.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::properties::test {

using namespace std::chrono_literals;

/// Settings of the agents of a script; PyTorch's defaults.
struct AgentSettings {
  std::string run_id = "job", backend = "c10d";
  std::int64_t min_nodes = 1, max_nodes = 4, local_world_size = 1, max_restarts = 3;
  sim::Duration shutdown = 30s, stop{}, join = 600s, last_call = 30s, close = 30s, heartbeat = 5s;
  sim::Duration keep_alive = 15s, read_timeout = 60s, monitor = 100ms, exit_barrier = 300s;
  // As the world tells.
  bool workers_meet_first = false;
  std::optional<Pauses> pauses{};
  bool alone = false;
  std::optional<std::int64_t> attempts{};
  sim::Duration waits{};
};

/// A trace in the making. Nodes are called "a", "b" … and have the numbers 0, 1 … in order of first
/// mention; agents have pids from 100 on, workers follow. Time only moves where the script says so.
class Script {
 public:
  explicit Script(AgentSettings settings = {},
                  const InvariantRegistry& registry = InvariantRegistry::with_builtins());

  /// Moves to `time` since the start of the run; never back.
  Script& at(sim::Duration time);
  /// Any event of a node, in the name of its process `pid`.
  Script& emit(const std::string& node, std::int64_t pid, const sim::EventType& type,
               std::initializer_list<sim::FieldValue> fields);

  // ---- agents -----------------------------------------------------------------------------------
  Script& agent_starts(const std::string& node);
  /// The world tells that it starts the node's agents with these. Before its first event.
  Script& given(const std::string& node, const AgentSettings& spans);
  Script& joining(const std::string& node);
  Script& added(const std::string& node, const std::string& list, std::int64_t round);
  Script& completed(const std::string& node, std::int64_t round, std::int64_t participants);
  /// rendezvous.joined and, after it, ranks.assigned.
  Script& joined(const std::string& node, std::int64_t round, std::int64_t rank, std::int64_t size,
                 const std::string& master);
  Script& workers_start(const std::string& node);
  /// The given nodes, in order of rank, join and complete `round`, which has a seat for each, and
  /// start their workers. The master is rank 0.
  Script& form(std::int64_t round, const std::vector<std::string>& nodes);
  /// The agent stops its workers in order to restart; `cause` as in group.restarting.
  Script& restarts(const std::string& node, const std::string& cause);
  Script& group(const std::string& node, const std::string& state);
  Script& enters_barrier(const std::string& node);
  Script& leaves_barrier(const std::string& node, const std::string& result);
  /// agent.finished, then the end of its process with that code.
  Script& finishes(const std::string& node, const std::string& outcome, std::int64_t code,
                   const std::string& detail = "");
  /// Workers of all these nodes end with 0, their agents meet in the exit barrier and end one after
  /// the other.
  Script& succeed(const std::vector<std::string>& nodes);
  Script& closes(const std::string& node);

  // ---- workers ----------------------------------------------------------------------------------
  /// Its process ends by itself; the agent has not looked yet.
  Script& worker_ends(const std::string& node, std::int64_t local_rank, std::int64_t status);
  /// The agent reaps all its ended workers.
  Script& reaps(const std::string& node);
  /// The agent signals its living workers, they die of it, and it reaps them.
  Script& stops_workers(const std::string& node);

  // ---- the world --------------------------------------------------------------------------------
  Script& signal_agent(const std::string& node, sim::Signal signal);
  /// SIGKILL: its workers become orphans.
  Script& kill_agent(const std::string& node);
  Script& process_ends(const std::string& node, std::int64_t pid, std::int64_t status);
  Script& crash(const std::string& node);
  /// `lasts` zero: until fault_over.
  Script& fault(std::int64_t fault, const std::string& kind, sim::Duration lasts = {},
                const std::string& target = "");
  Script& fault_over(std::int64_t fault, const std::string& kind, sim::Duration lingers = {});
  Script& fault_took_effect(std::int64_t fault, const std::string& kind);
  /// `nodes`: names with commas between them; `peers` below zero: for ever.
  Script& core_healed(const std::string& nodes, sim::Duration work, sim::Duration peers = 60s,
                      const std::string& endless = "");
  Script& held_up(const std::string& name, sim::Duration span);
  Script& serves_store(const std::string& node, std::int64_t port);
  /// A rendezvous store that no agent serves, on a machine of its own, "s". One at a time.
  Script& store_starts();
  Script& store_dies();

  [[nodiscard]] std::int64_t agent_pid(const std::string& node) const;
  [[nodiscard]] std::int64_t worker_pid(const std::string& node, std::int64_t local_rank) const;
  [[nodiscard]] std::int64_t next_pid(const std::string& node);
  /// Settings of agents that start from now on.
  AgentSettings settings;

  /// Ends the run now. Once per script.
  std::vector<Violation> finish(bool finished = true);
  /// What was judged; after finish().
  [[nodiscard]] std::map<std::string, Account> accounts() const { return set_.accounts(); }
  [[nodiscard]] const JobView& view() const { return set_.view(); }
  [[nodiscard]] sim::WorldTime owed_until() const { return set_.owed_until(); }

 private:
  struct Worker {
    std::int64_t pid = 0, local_rank = 0, rank = 0, status = 0;
    bool ended = false, reaped = false, stopped = false;
  };
  struct Node {
    sim::NodeId id{};
    std::int64_t agent = 0, next_pid = 100, failures = 0, max_restarts = 0;
    std::int64_t round = -1, rank = 0, size = 0, base_rank = 0, world_size = 0;
    std::string master;
    std::vector<Worker> workers;
  };
  Node& node(const std::string& name);
  Script& world(const sim::EventType& type, std::initializer_list<sim::FieldValue> fields);
  std::int64_t start_process(const std::string& name, std::int64_t parent,
                             const std::string& program);
  void deliver(sim::NodeId where, std::int64_t pid, const sim::EventType& type,
               std::initializer_list<sim::FieldValue> fields);

  std::map<std::string, Node> nodes_;
  sim::WorldTime now_{};
  std::uint64_t next_event_ = 1;
  std::int64_t store_ = 0;  ///< process number
  InvariantSet set_;
};

/// The agents of a, which serves the store, and b have formed round 0 at 1 s.
Script two_nodes_at_work(AgentSettings settings = {});
/// Those of the given nodes have, beside a store that none of them serves.
Script at_work_beside_a_store(const std::vector<std::string>& nodes, AgentSettings settings = {});

/// Ids of the broken invariants, each once, in order.
std::vector<std::string> ids(const std::vector<Violation>& violations);
/// Witnesses of one invariant, one per line.
std::string witnesses(const std::vector<Violation>& violations, const std::string& id);
/// How the run, which ends now, kept one invariant: "broken", "excused by the store
/// (service_stop)", "kept", "open" (not yet due) or "nothing owed"; the first that is true of some
/// agent.
std::string verdict(Script& script, const std::string& id);
/// What took away what an agent needed to keep it, for each of them; empty: nothing did.
std::vector<std::string> limits(const std::vector<Violation>& violations, const std::string& id);

}  // namespace hooke::properties::test
