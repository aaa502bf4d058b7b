// The table.
#include "scenarios/format/vocabulary.h"

#include <algorithm>
#include <array>

#include "properties/invariants/fault_effects.h"

namespace hooke::scenario {
namespace {

constexpr AmountRange amounts(std::int64_t min, std::int64_t max) {
  return {min, max};
}

constexpr Word etcd_word(std::string_view name, std::string_view kind, unsigned optional,
                         std::string_view meaning) {
  return {name, kind, 0, optional, false, meaning, {}, true};
}

constexpr std::array kWords{
    Word{"agent.start", kNoFault, kNode, 0, false, "one more agent process"},
    Word{"agent.restart", kNoFault, kNode, 0, false,
         "a fresh agent, as soon as the old one has ended"},
    Word{"agent.kill", "process_signal", kNode, 0, false, "SIGKILL to the node's agents"},
    Word{"agent.signal", "process_signal", kNode, kSignal, false,
         "a signal to the node's agents, SIGTERM unless said otherwise"},
    Word{"agent.pause", "process_pause", kNode, kFor, false,
         "SIGSTOP, and SIGCONT when the time is over"},
    Word{"node.crash", "node_crash", kNode, kFor, false,
         "the machine is gone; with for: up again, and its agent starts, after that"},
    Word{"node.restart", "node_restart", kNode, 0, false,
         "a crashed machine is up again and its agent starts"},
    Word{"node.reboot", "node_crash", kNode, kFor, false,
         "a crash, and a restart 30 s later or after for"},
    Word{"worker.exit", "process_exit", kNode, kLocalRank | kAmount, false,
         "ends with code amount, 1 unless said otherwise", amounts(0, 255)},
    Word{"worker.signal", "process_signal", kNode, kLocalRank | kSignal, false,
         "a signal to the worker, SIGKILL unless said otherwise"},
    Word{"worker.hang", "process_hang", kNode, kLocalRank, false, "makes no progress any more"},
    Word{"worker.unkillable", "process_unkillable", kNode, kLocalRank | kFor, false,
         "uninterruptible sleep: SIGKILL stays pending"},
    Word{"worker.slow_stop", kNoFault, kNode | kBy, kLocalRank, false,
         "takes that long to end after SIGTERM"},
    Word{"worker.children", kNoFault, kNode, kLocalRank | kAmount, false,
         "starts child processes that outlive it", amounts(1, 1'000)},
    Word{"net.partition", "net_partition", kPaths, kFor, false,
         "nothing passes between from and to; from a node to itself: over its loopback"},
    Word{"net.delay", "net_delay", kBy, kPaths | kFor, false, "that much more latency"},
    Word{"net.loss", "net_loss", kAmount, kPaths | kFor, false,
         "a write breaks its connection, amount times in a million", amounts(1, 1'000'000)},
    Word{"net.reset", "net_reset", 0, kPaths, false, "every connection breaks now"},
    Word{"net.clog", "net_clog", 0, kPaths | kFor, false,
         "bytes are held and delivered when it ends"},
    Word{"net.bandwidth", "net_bandwidth", kAmount, kPaths | kFor, false, "amount bits per second",
         amounts(1, 1'000'000'000'000)},
    Word{"store.slow", "service_slow", kBy, kFor, false, "that much more per request"},
    Word{"store.stop", "service_stop", 0, kFor, false, "serves nothing for that long"},
    Word{"store.error", "service_error", 0, kFor, false,
         "resets each connection at its next request"},
    Word{"store.reply_lost", "service_reply_lost", 0, kAmount, false,
         "serves the next amount requests (1), but the replies are lost", amounts(1, 1'000'000)},
    Word{"store.backlog", kNoFault, kAmount, 0, false,
         "so many connections may wait to be accepted from now on", amounts(1, 1'000'000)},
    Word{"store.restart", "process_signal", 0, kFor, false,
         "an external store ends and comes up empty"},
    Word{"clock.skew", "clock_skew", kNode | kBy, 0, true,
         "the wall clock is set to true time plus by"},
    Word{"clock.jump", "clock_jump", kNode | kBy, 0, true, "the wall clock jumps"},
    Word{"clock.drift", "clock_drift", kNode | kAmount, 0, false,
         "both clocks run at amount parts per million faster", amounts(-100'000, 100'000)},
    Word{"clock.freeze", "clock_freeze", kNode | kFor, 0, false, "both clocks stand still"},
    Word{"dns.alias", "dns_alias", kNode | kText, 0, false, "the name text also means that node"},
    Word{"dns.unresolvable", "dns_unresolvable", kText, kNode | kFor, false,
         "the name text cannot be resolved (by that node)"},
    Word{"port.busy", "port_busy", kNode | kAmount, kFor, false, "a stranger holds port amount",
         amounts(1, 65'535)},
    Word{"port.steal", "port_steal", kNode, kFor, false,
         "a stranger takes the next ephemeral port that is closed"},
    Word{"job.collide", kNoFault, kNode, kText, false,
         "a second job on the same endpoint, with run id text or the same"},
    Word{"pid.reuse", "pid_reuse", kNode, kLocalRank, false,
         "the next process gets that worker's number"},
    Word{"disk.full", "disk_full", kNode, kFor, false, "writes fail"},
    Word{"disk.short_write", "disk_short_write", kNode | kAmount, 0, false,
         "the next write stores only amount bytes", amounts(0, 1'000'000'000)},
    Word{"thread.dies", "fiber_dies", kNode | kText, 0, false,
         "the agent's background task text ends silently"},
    Word{"sched.relaunch", kNoFault, kNode, kBy | kAmount, false,
         "a failed agent is started again, amount times, by later", amounts(1, 1'000'000)},
    Word{"sched.health_kill", "process_signal", kNode, kBy, false,
         "a scheduler asks the agent's health check (TORCHELASTIC_HEALTH_CHECK_PORT) every by, 10s "
         "unless said otherwise and 1s at least, and kills an agent that is not alive"},
    etcd_word("lease.expire", "etcd_expiry", 0,
              "every lease of etcd and all that lives for a time end now"),
    etcd_word("lease.late", "etcd_late_expiry", kFor, "nothing of etcd expires"),
    etcd_word("store.stale_read", "etcd_stale_read", kFor,
              "reads and watches of etcd see what stood there when this began"),
    etcd_word("store.compact", "etcd_compaction", kFor,
              "etcd forgets every revision that is not its last"),
    etcd_word("store.leader_change", "etcd_leader_loss", kFor,
              "etcd has no leader: it refuses what needs one"),
    etcd_word("store.unknown_outcome", "etcd_unknown_outcome", kFor,
              "etcd carries writes out and answers as if it had not in time"),
    etcd_word("store.duplicate_events", "etcd_duplicate_events", kFor,
              "etcd tells its watchers of each change twice"),
};

/// What a fault hinders is all that excuses an agent: a word that did not say so would excuse none.
constexpr bool says_what_it_hinders(const Word& word) {
  return word.kind == kNoFault || properties::has_effect(word.kind);
}
static_assert(std::all_of(kWords.begin(), kWords.end(), says_what_it_hinders));

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
  for (const sim::Signal signal :
       {sim::Signal::hup, sim::Signal::int_, sim::Signal::quit, sim::Signal::kill,
        sim::Signal::usr1, sim::Signal::term, sim::Signal::cont, sim::Signal::stop}) {
    const std::string_view full = to_string(signal);
    if (name == full || name == full.substr(3)) return signal;
  }
  return std::nullopt;
}

}  // namespace hooke::scenario
