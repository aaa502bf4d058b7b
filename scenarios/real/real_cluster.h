#pragma once
// The machines of a scenario as processes of this one: an agent and its workers for each node, with
// an address of its own (127.0.1.N), a link of its own to the rendezvous store, and a mark in the
// environment by which all that belongs to it is found again.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/recorded/torchrun_log.h"
#include "scenarios/recorded/trace_merger.h"
#include "sim/port/ports.h"
#include "sim/real/link_proxy.h"
#include "sim/real/port_reservation.h"

namespace hooke::scenario {

/// What plays the agents.
struct AgentProgram {
  AgentKind kind = AgentKind::hooke;
  std::string hooke;     ///< path of the hooke program; serves the store and runs the workers too
  std::string torchrun;  ///< command, words separated by blanks
};

/// Names in the environment of every process of a real cluster.
inline constexpr const char* kClusterVariable = "HOOKE_CLUSTER";  ///< its directory
inline constexpr const char* kNodeVariable = "HOOKE_NODE";
inline constexpr const char* kStoreVariable = "HOOKE_STORE";  ///< the store, past all links
inline constexpr const char* kWallOffsetVariable = "HOOKE_WALL_OFFSET_NS";

class RealCluster {
 public:
  /// `directory` is there and empty. References must outlive the cluster.
  RealCluster(sim::Ports& ports, const Scenario& scenario, const AgentProgram& program,
              std::string directory, const std::vector<std::string>& node_names,
              TraceMerger& merger);
  ~RealCluster();
  RealCluster(const RealCluster&) = delete;
  RealCluster& operator=(const RealCluster&) = delete;

  /// The external store, empty; waits until it serves. std::runtime_error when it does not.
  void start_store();
  [[nodiscard]] bool store_is_external() const;
  [[nodiscard]] sim::NodeId store_machine() const { return store_machine_; }
  [[nodiscard]] std::optional<sim::Pid> store_process() const { return store_process_; }

  /// False when the machine is down.
  bool start_agent(sim::NodeId node, const std::string& run_id);
  /// To one process; told as the harness' doing.
  bool signal(sim::NodeId node, sim::Pid pid, sim::Signal signal);
  /// Everything on the node is gone at once.
  void crash(sim::NodeId node);
  /// The machine is up again; false if it was.
  bool boot(sim::NodeId node);
  /// Whether the program of the node's workers is there from now on; only where the timeline of the
  /// scenario may take it away.
  void let_workers_start(sim::NodeId node, bool can);
  /// Tells the worker to end with `code`.
  void order_exit(sim::Pid worker, std::int64_t code);
  /// The links of these nodes to the store; of the store's own node there is none.
  [[nodiscard]] std::vector<real::LinkProxy*> links(const std::vector<sim::NodeId>& nodes);
  /// The links of these nodes' workers to their agents, over which heartbeats go.
  [[nodiscard]] std::vector<real::LinkProxy*> heartbeat_links(
      const std::vector<sim::NodeId>& nodes);

  /// Takes in what has been written and which processes have ended since the last look.
  void look();
  /// Notes an event of the harness, now.
  void note(sim::NodeId node, sim::Pid pid, const sim::EventType& type,
            std::vector<RawEvent::Field> fields);

 private:
  struct Agent {
    sim::NodeId node{};
    sim::Pid pid{};
    std::string log;
    std::optional<sim::Signal> told;  ///< the last signal to end that the harness sent
  };
  struct KillSignal {
    sim::Signal signal{};
    sim::WorldTime at{};
  };
  struct Gone {
    sim::WorldTime since{};
    std::optional<sim::ExitStatus> status{};  ///< when we were the one to reap it
    int looks = 0;                            ///< since then
    bool told = false;
  };
  struct Tail {
    sim::NodeId node{};
    std::uint64_t read = 0;
    std::string rest;  ///< of a line that is not complete yet
    sim::Pid agent{};  ///< set: this is the log of that torchrun agent, else a trace
    TorchrunLog log{};
  };
  [[nodiscard]] std::vector<std::string> agent_command(sim::NodeId node, const std::string& run_id,
                                                       const std::string& trace) const;
  [[nodiscard]] std::vector<std::string> heartbeat_flags(sim::NodeId node) const;
  [[nodiscard]] std::map<std::string, std::string> environment(sim::NodeId node) const;
  [[nodiscard]] std::string address(sim::NodeId node) const;
  [[nodiscard]] sim::WorldTime now() const;
  void find_traces();
  void read_more(const std::string& path, Tail& tail);
  void take_line(const std::string& line, sim::NodeId node);
  [[nodiscard]] std::string with_names(const std::string& text) const;
  void look_at_agents();
  void look_at_workers();
  /// When a process that has ended with `status` did: when the signal that killed it was sent, else
  /// now.
  [[nodiscard]] sim::WorldTime end_of(sim::Pid pid,
                                      const std::optional<sim::ExitStatus>& status) const;
  void agent_ends(const Agent& agent, const sim::ExitStatus& status);
  void tell_settings(const Agent& agent, const std::string& run_id);

  sim::Ports& ports_;
  const Scenario& scenario_;
  const AgentProgram& program_;
  std::string directory_;
  const std::vector<std::string>& node_names_;
  TraceMerger& merger_;
  sim::NodeId store_machine_{};
  real::PortReservation store_port_;
  std::optional<sim::Pid> store_process_;
  std::vector<std::unique_ptr<real::LinkProxy>> links_;  ///< by node; null for the store's
  struct HeartbeatLink {
    real::PortReservation agent;  ///< where the node's agent listens
    std::unique_ptr<real::LinkProxy> proxy;
  };
  std::vector<HeartbeatLink> heartbeat_links_;  ///< by node; empty without heartbeats
  std::vector<std::string> own_programs_;       ///< links to the workers' program, by node, or none
  std::vector<Agent> agents_;                   ///< living ones
  std::set<sim::NodeId> down_;
  std::map<std::string, Tail> tails_;            ///< by path
  std::map<sim::Pid, Gone> gone_;                ///< workers
  std::map<sim::Pid, KillSignal> kill_signals_;  ///< signals to end, by the harness
  int started_ = 0;
};

}  // namespace hooke::scenario
