#pragma once
// A worker of the simulated job: does what its program in the scenario says, and keeps torchrun's
// contract with workers (environment variables, the store at MASTER_ADDR:MASTER_PORT, signals).
// Workers of one group meet over the store as torch.distributed does with `env://`
// (torch/distributed/rendezvous.py), and tell values of their own incarnation from older ones.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/heartbeat/heartbeat_client.h"
#include "model/rendezvous/core/handler.h"
#include "model/store/store.h"
#include "model/store/tcp_store.h"
#include "model/timer/group_timer.h"
#include "model/timer/kinds/timer_registry.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "model/worker/holdings.h"
#include "model/worker/process_group.h"
#include "model/worker/signal_file.h"
#include "scenarios/format/scenario.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::scenario {

/// Names the file that workers share for signals of their own; "/signals" without it.
inline constexpr const char* kSignalFileVariable = "HOOKE_SIGNAL_FILE";

/// What a worker cannot know from its environment: its program and its manners.
struct WorkerConditions {
  WorkerProgram program;
  /// See WorkersPlan.
  std::optional<Duration> peer_abort;
  Duration slow_stop{};
  /// SIGTERM may become caught later on (WorkerRun::slow_stop).
  bool may_stop_slowly = false;
  /// Keys carry the agent's restart count as a prefix, as before PyTorch 2.6, although the agents
  /// of a job count differently (pytorch/pytorch#135712).
  bool restart_count_prefix = false;
  model::PlantedSet planted;  ///< in the worker's own store client and server
  model::Variant variant = model::Variant::torch_2_x;
  /// How timers are asked for; null: as PyTorch's workers do.
  std::shared_ptr<const model::TimerKind> timers;
  /// The rendezvous round this worker belongs to: ground truth of the harness that no protocol
  /// message carries. It makes every written value unique. nullopt: no agent has said yet whose
  /// this worker is.
  std::function<std::optional<std::int64_t>()> round;
  /// See WorkersPlan.
  bool trace_store = false;
  /// The latest round of this job that an agent has joined, of which the harness knows, too; null or
  /// nullopt: not known.
  std::function<std::optional<std::int64_t>(const std::string& run_id)> newest_round;
  /// Where the job's rendezvous is, for a worker that looks at its job; its run id is the worker's.
  model::RendezvousParameters job = {};
};

/// What the worker `local_rank` of `node` runs when it has been started `incarnation` times before.
/// The most particular override counts: this worker before its whole node, a first incarnation's
/// before one for all incarnations.
const WorkerProgram& program_of(const WorkersPlan& plan, const std::string& node,
                                std::int64_t local_rank, std::int64_t incarnation);

/// One worker process, from start to exit.
class WorkerRun {
 public:
  WorkerRun(sim::Ports& ports, WorkerConditions conditions);

  /// Runs the program in the calling fiber; returns the exit code. A lost peer, a lost store and a
  /// process group that does not come about are exit code 1.
  int run();

  /// From now on SIGTERM is answered by exit 0 after `span`, as a checkpoint handler does. Has no
  /// effect without `may_stop_slowly`. Callable from outside the process.
  void slow_stop(Duration span);
  /// Starts `count` children in this worker's process group. Callable from outside the process;
  /// returns how many came up.
  std::int64_t spawn_children(std::int64_t count);

 private:
  std::optional<int> step(const WorkerStep& step);
  int steps();
  void tell_environment();
  void linger();
  bool init();
  std::int64_t round();
  [[nodiscard]] model::ProcessGroupOptions group_options();
  bool find_peers();
  bool collective(Duration work);
  /// A step on the timer file; false when it raised.
  bool use_timer(const WorkerStep& step);
  /// One for each signal as long as this process lives, as after PyTorch's timer.configure(): an
  /// agent asks a connection whose process it is.
  /// The name under which a worker holds a timer; its scope comes behind.
  static constexpr const char* kTimer = "timer ";
  /// By the kind of the agent's timers; EscapedPythonError when there is no process to ask.
  std::shared_ptr<model::TimerClient> timer_client(sim::Signal signal);
  bool measure(const WorkerStep& step);
  /// A step on heartbeats; false when the environment means nothing.
  bool beat(const std::string& what);
  /// Waits until the agent has said that a peer is as `step` has it; false when that takes longer
  /// than a lost peer is waited for.
  bool sees(const WorkerStep& step);
  /// Looks at the job until it is as `step` has it; false likewise.
  bool looks_at_job(const WorkerStep& step);
  /// True when all ranks have come to `key`; false when a peer stays away for longer than
  /// peer_abort. A worker that comes when all have met is alone: the others do not wait any more.
  bool meet(const std::string& key);
  /// Gives back what is named, or all; false when something could not be given back.
  bool destroy(const std::string& what);
  /// A step on the shared file; false when it cannot be written, or no agent raised the signal.
  bool use_signal_file(const WorkerStep& step);
  /// A store of its own, or a child that holds a port; false when the port is taken.
  bool take_port(const WorkerStep& step);
  void await_stop();
  void rest(Duration span);
  /// For how long a lost peer is waited for.
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] std::string variable(const std::string& name) const;

  sim::Ports& ports_;
  WorkerConditions conditions_;
  sim::Flag over_;
  int exit_code_ = 0;
  bool listens_ = false;   ///< SIGTERM is caught and somebody waits for it
  bool stopping_ = false;  ///< SIGTERM has come: only the handler decides about the end
  bool stuck_ = false;     ///< in a native call that never returns: no handler runs either
  std::unique_ptr<model::HeartbeatClient> heartbeat_;  ///< null before the first step on it
  model::ProcessGroup group_;
  std::unique_ptr<model::SignalFile> signals_;  ///< null before the first step on it
  std::map<sim::Signal, std::shared_ptr<model::TimerClient>> timer_clients_;
  std::map<std::string, std::unique_ptr<model::GroupTimer>>
      group_timers_;  ///< by what they measure
  std::vector<std::unique_ptr<model::TcpStoreServer>> own_stores_;
  model::Holdings holdings_;  ///< gives back what is above
  std::string run_id_;
  std::string incarnation_;
  std::int64_t groups_ = 0;  ///< begun by this process so far
  std::int64_t rank_ = 0;
  std::int64_t world_size_ = 0;
  std::int64_t collectives_ = 0;
  std::string last_meeting_;  ///< key of the latest collective
  bool peers_serve_ = false;  ///< the group's store is served by rank 0, not by the agent
};

}  // namespace hooke::scenario
