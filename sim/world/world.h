#pragma once
// The simulated world: machines with clocks, disks and processes, joined by a network, all on one
// kernel. The owner of the world (a scenario, a test) adds machines, registers programs, starts
// processes and injects faults; the programs see only their Ports.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/port/ports.h"
#include "sim/world/fault_id.h"

namespace hooke::world {

/// Distribution of one-way latency, given by its median and its 99th percentile (p99 >= median):
/// piecewise linear in the quantile, from half the median to twice the p99. Equal values mean a
/// constant.
struct LatencyModel {
  sim::Duration median = std::chrono::microseconds(150);
  sim::Duration p99 = std::chrono::milliseconds(2);
};

struct NetworkOptions {
  LatencyModel latency;                                    ///< between different nodes
  sim::Duration loopback = std::chrono::microseconds(20);  ///< within a node, constant
  std::int64_t bandwidth_bits_per_s = 10'000'000'000;      ///< what a node can send; 0: unlimited
  bool holds = false;  ///< requests may be held at services, by choices of request_order.h
};

/// Cost of serving at one listening port: requests (one per client write) are served one after the
/// other. Until a request's time has come its handler is not called; bytes it writes leave when its
/// time is over.
struct ServiceModel {
  sim::Duration per_request{};
  sim::Duration per_byte{};    ///< for bytes received and for bytes sent in answer
  std::size_t backlog = 4096;  ///< connections that may wait to be accepted; more are refused
  /// Time the host needs to accept one connection.
  sim::Duration per_accept = std::chrono::microseconds(20);
};

struct NodeOptions {
  std::string name;                  ///< host name, unique; also resolvable as name + ".sim"
  sim::Duration clock_skew{};        ///< wall clock minus true wall clock at the start
  std::int64_t clock_drift_ppb = 0;  ///< both clocks run at (1 + ppb/1e9) of true speed
};

/// Code of a program: runs as the first fiber of its process; its return value is the exit code.
/// Killed passes through it.
using Program = std::function<int(sim::Ports& ports)>;

struct WorldOptions {
  NetworkOptions network;
  /// How late sleepers are woken: by default as late as Linux may (PR_SET_TIMERSLACK). It matters:
  /// a poll after exactly the age that a cache allows would find the cache still fresh, which on a
  /// real machine it never is.
  sim::Duration timer_slack = std::chrono::microseconds(50);
  /// Lets processes look where their lookouts say that there is nothing to see, and does not compute
  /// that: the same events and the same trace hash, slower. For tests of that.
  bool steps_polls = false;
  sim::WallTime wall_epoch{
      std::chrono::seconds(1'800'000'000)};  ///< true wall time at world time 0
};

/// One direction or both of the paths between two sets of nodes. An empty set means every node.
struct PathSet {
  std::vector<sim::NodeId> from;
  std::vector<sim::NodeId> to;
  bool one_way = false;
  /// The paths of each of `from` to itself, over its loopback; `to` is not asked. Without this
  /// nothing is ever cut off from itself.
  bool loopback = false;
};

/// What a fault does; see World::inject. The elastic words of a scenario ("agent.kill") are
/// translated to these where the roles are known.
enum class FaultKind : unsigned char {
  process_signal,  ///< pid, signal
  process_pause,   ///< pid, duration: SIGSTOP … SIGCONT
  process_hang,    ///< pid, duration: makes no progress, still dies of signals by default action
  process_exit,    ///< pid, code: ends at once with that code
  process_unkillable,  ///< pid, duration (0: for good): in uninterruptible sleep, SIGKILL stays
                       ///< pending
  fiber_dies,          ///< pid, text: the fiber of that name ends silently
  node_crash,  ///< node: all processes gone, connections silent (peers see nothing until they time
               ///< out or get a reset from the rebooted host)
  node_restart,   ///< node: the machine is up again, disk kept, no processes
  net_partition,  ///< paths, duration: nothing passes; established streams stall, connects time out
  net_delay,      ///< paths, duration, span: that much more latency
  net_loss,       ///< paths, duration, ratio_ppm: a write breaks its connection (reset) with this
                  ///< probability
  net_reset,      ///< paths: breaks every connection on them now
  net_clog,       ///< paths, duration: bytes are held and delivered when it ends
  net_bandwidth,  ///< paths, duration, amount: bits per second
  service_slow,   ///< node, port, duration, span: added to per_request
  service_stop,   ///< node, port, duration: serves nothing, then goes on
  service_error,  ///< node, port, duration: resets each connection at its next request
  service_reply_lost,  ///< node, port, amount: serves the next `amount` requests, then resets
                       ///< instead of replying
  clock_skew,          ///< node, span: wall clock is set to true time + span
  clock_jump,          ///< node, span: wall clock moves by span
  clock_drift,         ///< node, amount: ppb from now on
  clock_freeze,        ///< node, duration (0: until healed): both clocks stand still
  dns_alias,           ///< text resolves to node, duration
  dns_unresolvable,  ///< text cannot be resolved (by node, or by all when there is none), duration
  port_busy,         ///< node, port, duration: a stranger holds the port
  port_steal,        ///< node, duration: a stranger takes the next ephemeral port that is closed
  pid_reuse,         ///< node, pid: the next process started there gets this number
  disk_full,         ///< node, duration: writes fail with no_space
  disk_short_write,  ///< node, amount: the next write stores only its first `amount` bytes, then
                     ///< no_space
  spawn_fails,       ///< node, duration, amount (0: any number): a process that another one starts
                     ///< is not there (not_found)
  process_deaf,   ///< pid, duration (0: for good): signals wait, except SIGKILL, SIGSTOP, SIGCONT
  disk_stall,     ///< node, duration: reads and writes of files do not return
  process_raise,  ///< pid, text: its main fiber raises that error at the fault point where it is,
                  ///< or at the next one
};

/// One fault with its parameters; which ones count is said at its kind.
struct Fault {
  FaultKind kind{};
  std::optional<sim::NodeId> node;
  std::optional<sim::Pid> pid;
  sim::Signal signal = sim::Signal::kill;
  PathSet paths;
  sim::PortNumber port{};
  sim::Duration duration{};  ///< how long it lasts; 0: until healed, where that makes sense
  sim::Duration span{};
  std::int64_t amount = 0;
  std::int64_t ratio_ppm = 0;
  std::string text;
};

class World {
 public:
  /// `kernel` must have begun a run and must outlive the world.
  World(kernel::Kernel& kernel, WorldOptions options);
  /// Kills every process that is left, lets it unwind, and checks that nothing of the world is
  /// alive.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  sim::NodeId add_node(NodeOptions options);
  [[nodiscard]] std::size_t node_count() const;
  [[nodiscard]] const std::string& node_name(sim::NodeId node) const;
  [[nodiscard]] std::optional<sim::NodeId> find_node(std::string_view name) const;
  [[nodiscard]] bool node_up(sim::NodeId node) const;

  /// Makes `program` startable on every node as argv[0] == name.
  void register_program(std::string name, Program program);
  /// Starts a process as init would. Fails with not_found or unreachable (node is down).
  sim::Outcome<sim::Pid> start(sim::NodeId node, sim::SpawnRequest request);
  /// Exit status of a process that start() began, once it has ended; kept for the whole run.
  [[nodiscard]] std::optional<sim::ExitStatus> exit_status(sim::NodeId node, sim::Pid pid) const;
  /// Living processes of a node in pid order, zombies not counted.
  [[nodiscard]] std::vector<sim::Pid> living(sim::NodeId node) const;
  /// argv of a living process.
  [[nodiscard]] const std::vector<std::string>& arguments(sim::NodeId node, sim::Pid pid) const;
  /// Environment of a living process.
  [[nodiscard]] const std::map<std::string, std::string>& environment(sim::NodeId node,
                                                                      sim::Pid pid) const;

  /// Serial service for everything listening on `port` of `node`, now or later. Default: no cost.
  void set_service(sim::NodeId node, sim::PortNumber port, ServiceModel model);
  /// Serial service for ports without one of their own.
  void set_default_service(ServiceModel model);

  /// Injects a fault now. Emits `fault.injected`; `fault.took_effect` is emitted when it first
  /// changes what some process experiences, and for each lost reply. std::invalid_argument when it
  /// lacks the node or the pid that its kind needs, or stops a clock by drifting; a pid that no
  /// process has, or the number of a process that has ended, is felt by no process.
  FaultId inject(const Fault& fault);
  /// Ends a lasting fault early; harmless when it has ended.
  void heal(FaultId fault);
  /// Ends each lasting fault as far as it hinders the machines of `core`, the names by which they
  /// find each other, or the paths among them, and sets their clocks right. What is left of such a
  /// fault is injected anew, and nothing elsewhere ends any more: a fault whose end was to come is
  /// replaced by one without. Starts no machine.
  void heal_core(const std::vector<sim::NodeId>& core);
  /// How often a fault, or what replaced it, changed what a process experienced; 0 means it had no
  /// effect at all.
  [[nodiscard]] std::uint64_t felt(FaultId fault) const;

  /// Called whenever a process passes a named fault point: (node, pid, name, how often this name
  /// was passed on that node, from 1). Injecting from inside is allowed.
  void on_fault_point(
      std::function<void(sim::NodeId, sim::Pid, std::string_view, std::uint64_t)> observer);

  /// Bytes and requests moved so far, per node: for studies.
  struct Traffic {
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t writes = 0;
  };
  [[nodiscard]] Traffic traffic(sim::NodeId node) const;

  [[nodiscard]] kernel::Kernel& kernel();
  /// What an exact wall clock would show now.
  [[nodiscard]] sim::WallTime true_wall_time() const;
  /// Emits an event in the name of the harness (no node).
  sim::EventId emit(const sim::EventType& type, std::initializer_list<sim::FieldValue> fields);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hooke::world
