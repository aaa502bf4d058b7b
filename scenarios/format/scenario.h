#pragma once
// A scenario as a value: the version 1 format of scenario.schema.json after loading, with node
// ranges expanded and defaults filled in. Whatever generates, shrinks or runs scenarios works on
// this.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/heartbeat/heartbeat_plan.h"
#include "model/variant/variant.h"
#include "sim/kernel/choice.h"
#include "sim/kernel/schedule.h"
#include "sim/port/time.h"

namespace hooke::scenario {

using sim::Duration;
using namespace std::chrono_literals;

struct RendezvousPlan {
  std::string backend = "c10d";
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  Duration join = 600s, last_call = 30s, close = 30s, heartbeat = 5s;
  Duration keep_alive_interval = 5s;
  std::int64_t keep_alive_max_attempts = 3;
  Duration read_timeout = 60s;
  friend bool operator==(const RendezvousPlan&, const RendezvousPlan&) = default;
};

struct AgentPlan {
  std::int64_t max_restarts = 3;
  /// Replaceable parts, each NAME[:KEY=VALUE,...].
  std::string restart_policy = "torch";
  std::string kind = "elastic";
  std::string timer = "file";
  std::string process_launcher = "local";
  std::string shutdown = "torch";
  Duration monitor_interval = 100ms;
  Duration exit_barrier_timeout = 300s;
  Duration shutdown_timeout = 30s;
  std::map<std::string, std::string>
      environment;  ///< of the agent process, inherited by its workers
  std::optional<model::HeartbeatPlan> heartbeats;  ///< nullopt: no agent waits for beats
  friend bool operator==(const AgentPlan&, const AgentPlan&) = default;
};

struct ProtocolPlan {
  model::Variant variant = model::Variant::torch_2_x;
  std::vector<std::string> defects;  ///< named switches of model/variant/defects.h
  RendezvousPlan rendezvous;
  AgentPlan agent;
  friend bool operator==(const ProtocolPlan&, const ProtocolPlan&) = default;
};

struct NodePlan {
  std::string id;
  std::optional<Duration> start =
      Duration::zero();  ///< nullopt: only the timeline starts its agent
  Duration clock_skew{};
  std::int64_t clock_drift_ppm = 0;
  /// The address that its agents tell others (torchrun --local-addr); empty: the machine's name. The
  /// timeline's dns.alias says whose it is, where it is no machine's name.
  std::string local_addr{};
  /// Of its agents; nullopt: the job's.
  std::optional<model::Variant> variant;
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

struct ClusterPlan {
  std::vector<NodePlan> nodes;
  /// Node whose agent serves the rendezvous store; empty: a machine of its own outside the job,
  /// named "store", which lives as long as the run ("external").
  std::string store_host;
  /// The name by which agents know that machine; empty: its own.
  std::string store_name;
  Duration latency_median = 150us, latency_p99 = 2ms;
  std::int64_t bandwidth_bits_per_s = 10'000'000'000;
  Duration service_time = 11us;
  Duration service_time_per_byte = 1ns;
  std::int64_t backlog = 4096;
  /// Every node has a worker pool with so many slots, at the port that pools usually have.
  std::optional<std::int64_t> pool_slots;
  friend bool operator==(const ClusterPlan&, const ClusterPlan&) = default;
};

/// One step of a worker program.
struct WorkerStep {
  enum class Kind : unsigned char {
    run,         ///< work for `span`
    exit,        ///< end with `code`
    signal,      ///< kill oneself with signal number `code`
    hang,        ///< make no progress, for ever
    init,        ///< join the process group over the store at MASTER_ADDR:MASTER_PORT
    collective,  ///< a barrier of all workers over that store; `count` times, `span` of work before
                 ///< each
    acquire,     ///< arm the timer `text`, to expire after `span` with signal number `code`
    release,     ///< disarm the timer `text`
    scribble,    ///< write the line `text` into the timer file
    hold_timer,  ///< keep the timer file open for `span`
    beat,     ///< `text`: start to send heartbeats, pause, or stop; nothing where none are wanted
    destroy,  ///< give back `text`: the process group, heartbeats, timers, or all of it
    raise,    ///< put the signal `text` into the file that the workers share
    await,    ///< wait for the signal `text` there, for as long as for a lost peer
    start_timer,  ///< the work `text` begins, or begins anew: it has the limit of the agent's timers
    stop_timer,   ///< it is done, and how long it took is told
    serve,        ///< a store of its own at port `count`, for as long as the worker lives
    child,        ///< start a process that holds port `count` and outlives the worker
    error,        ///< write `text` into the error file, then end with exit code 1
    sees,         ///< wait until the agent says that the worker of rank `count` is `text`, as long
    job,          ///< look at the job until its state is `text`, with `count` workers, as long
  };
  Kind kind{};
  Duration span{};
  std::int64_t code = 0;
  std::int64_t count = 1;
  std::string text = {};
  friend bool operator==(const WorkerStep&, const WorkerStep&) = default;
};
using WorkerProgram = std::vector<WorkerStep>;

struct WorkersPlan {
  std::int64_t per_node = 1;
  WorkerProgram program;
  /// How long a collective waits for a lost peer before the worker aborts; nullopt: for ever.
  std::optional<Duration> peer_abort = 60s;
  /// How long a worker takes to end after SIGTERM; 0: dies of the default action.
  Duration slow_stop{};
  /// What workers ask of their store is on the trace, whose hash is another one then.
  bool trace_store = false;
  /// Programs of single workers, "node" or "node/local_rank"; they apply to the first incarnation
  /// only unless the key ends in "/*".
  std::map<std::string, WorkerProgram> overrides;
  friend bool operator==(const WorkersPlan&, const WorkersPlan&) = default;
};

/// When something on the timeline happens: at a world time, or some span after an event, or at a
/// passage of a fault point.
struct Trigger {
  std::optional<Duration> at;
  /// Name of an event type and the fields it must carry (numbers in decimal).
  std::optional<std::string> event;
  std::map<std::string, std::string> fields;
  std::string on_node;  ///< the event's node, empty for any
  std::optional<std::string> fault_point;
  std::int64_t passage = 1;             ///< the n-th matching event or passage
  std::optional<std::int64_t> at_most;  ///< of an expected event: more matching ones are too many
  Duration after{};
  /// Of an expected event: only those that happen in this span of the run count.
  Duration not_before{};
  std::optional<Duration> not_after;
  friend bool operator==(const Trigger&, const Trigger&) = default;
};

/// One line of the timeline. Which parameters count is said by the fault's entry in the schema.
struct TimelineEntry {
  Trigger trigger;
  std::string what;               ///< "node.crash"
  std::vector<std::string> from;  ///< nodes or roles; `node` is a one-element list here
  std::vector<std::string> to;
  bool one_way = false;
  std::optional<std::int64_t> local_rank;
  std::optional<std::string> signal;
  std::optional<Duration> duration;  ///< "for"
  std::optional<Duration> span;      ///< "by"
  std::optional<Duration> every;     ///< repeat with this period
  std::int64_t times = 1;            ///< how often when repeated
  std::optional<std::int64_t> amount;
  std::optional<std::string> text;
  friend bool operator==(const TimelineEntry&, const TimelineEntry&) = default;
};

/// From `at` on these nodes, the store, its host and the paths among all of them are sound, what is
/// broken elsewhere stays so for good, and the timeline does nothing any more.
struct CorePlan {
  Duration at{};
  std::vector<std::string> nodes;
  friend bool operator==(const CorePlan&, const CorePlan&) = default;
};

/// Both ends included; nullopt: no limit.
struct CountRange {
  std::optional<std::int64_t> min{}, max{};
  friend bool operator==(const CountRange&, const CountRange&) = default;
};

/// What a number that certain events carry adds up to over the run.
struct ExpectedSum {
  Trigger events;          ///< those that count
  std::string field;       ///< of theirs, a number
  CountRange range;        ///< of the sum
  bool is_a_span = false;  ///< the field is a time in nanoseconds, and so are the limits
  friend bool operator==(const ExpectedSum&, const ExpectedSum&) = default;
};

struct Expectation {
  std::map<std::string, std::string>
      outcome;  ///< node id → succeeded, failed, signalled, crashed, running, error …
  std::map<std::string, std::int64_t> exit_code;
  std::map<std::string, CountRange> count;  ///< of the nodes whose latest agent ends so
  std::optional<std::int64_t> rounds_min, rounds_max;
  std::optional<Duration> within;
  std::vector<std::string> holds;     ///< patterns of invariant ids that must hold
  std::vector<std::string> violates;  ///< ids that must be broken
  std::vector<std::string> coverage;
  std::vector<Trigger> events;  ///< that must be on the trace, each at least `passage` times
  std::vector<Trigger> never;   ///< that must not be on the trace
  std::vector<ExpectedSum> sums;
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

struct Scenario {
  std::string name;
  std::string description;
  std::vector<std::string> references;
  std::uint64_t seed = 0;
  kernel::Schedule schedule;
  /// This scenario must fail: it proves that failures are seen. JSON key "canary".
  bool canary = false;
  ProtocolPlan protocol;
  ClusterPlan cluster;
  WorkersPlan workers;
  std::vector<TimelineEntry> timeline;
  std::optional<CorePlan> core;
  Expectation expect;
  /// The run is cut here; what is still going is `running`.
  Duration time_limit = 3600s;
  /// Recorded choices that replace the seed's, with the verdict they gave when recorded.
  std::optional<kernel::Tape> tape;

  /// What the agents of `node` speak.
  [[nodiscard]] model::Variant variant_of(const NodePlan& node) const {
    return node.variant.value_or(protocol.variant);
  }
  /// Names of its machines by NodeId: the nodes, and the store where it has a machine of its own.
  [[nodiscard]] std::vector<std::string> machine_names() const {
    std::vector<std::string> names;
    for (const NodePlan& node : cluster.nodes) names.push_back(node.id);
    if (cluster.store_host.empty()) names.emplace_back("store");
    return names;
  }
  friend bool operator==(const Scenario&, const Scenario&) = default;
};

}  // namespace hooke::scenario
