#pragma once
// What each kind of fault hinders. An agent that is late is excused only by a fault whose line here
// names a resource that the agent needed: the ledger (ledger.h) has no other source. A word of the
// timeline whose kind has no line does not compile (scenarios/format/vocabulary.cpp).

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace hooke::properties {

/// Something that an agent needs in order to do what it owes. A set of them is a Needs.
using Needs = unsigned;
/// Its own process runs.
inline constexpr Needs kRun = 1U << 0U;
/// Its machine's clocks go as true time does, or at a steady rate beside it.
inline constexpr Needs kClock = 1U << 1U;
/// Bytes pass between its machine and the one that serves the rendezvous store.
inline constexpr Needs kPath = 1U << 2U;
/// A rendezvous store serves, and answers as soon as it can.
inline constexpr Needs kStore = 1U << 3U;
/// Names lead to their machines. One that only an alias gives belongs to that alias's machine.
inline constexpr Needs kNames = 1U << 4U;
/// What was written to the store stands there, and nothing older.
inline constexpr Needs kContents = 1U << 5U;
/// The agent's background tasks (keep-alive, watchdog) run.
inline constexpr Needs kTasks = 1U << 6U;
/// A worker on its machine ends when it is killed. An agent need not wait for one that does not: it
/// gives it up in bounded time (PyTorch 2.13: multiprocessing/api.py, "abandoning and continuing
/// teardown"), so that this costs kGiveUp and no more.
inline constexpr Needs kKillable = 1U << 7U;
/// No other agent was started with its rank.
inline constexpr Needs kOwnRank = 1U << 8U;
/// The end of a process on its machine: where there is no giving up.
inline constexpr Needs kMortal = 1U << 9U;

/// Keys end in the store when the time for which they live is over, by the store's clock.
inline constexpr Needs kExpiry = 1U << 10U;

/// What its process is told by a signal other than SIGKILL reaches it.
inline constexpr Needs kHears = 1U << 11U;

/// Reads and writes of files on its machine return.
inline constexpr Needs kDisk = 1U << 12U;

/// Its code raises no error but its own: one that a fault put there ends any agent, as a defect of the
/// code would.
inline constexpr Needs kOwnErrors = 1U << 13U;

/// The grace of a worker that is told to stop, and the wait behind SIGKILL.
inline constexpr std::chrono::seconds kGiveUp{60};

/// Whatever a fault may take.
inline constexpr Needs kAny = ~Needs{};

/// To go on by itself.
inline constexpr Needs kItself = kRun | kClock | kDisk;
/// To be answered by the rendezvous store.
inline constexpr Needs kAnswers = kPath | kStore | kNames | kContents;
/// To ask it and to be answered.
inline constexpr Needs kAsking = kItself | kAnswers;

/// "the store", "the agent's clock".
std::string_view name_of_first(Needs needs);

/// Which agents a fault reaches.
enum class Reach : unsigned char {
  process,   ///< the process that the target names
  machine,   ///< all on the machine that the target names
  paths,     ///< those on either side of the paths that the target names
  everyone,  ///< all agents
};

/// For how long.
enum class Span : unsigned char {
  instant,     ///< what it breaks is broken at one moment
  until_over,  ///< from its injection to its end
  from_felt,   ///< from the moment when it first changed something to its end
  when_felt,   ///< only the moments at which it changes something
};

struct FaultEffect {
  std::string_view kind;  ///< as fault.injected names it
  Needs hinders;          ///< 0: what it does shows in processes, and they are no excuse
  Reach reach;
  Span span;
};

/// The store that served the rendezvous has gone, and none serves. No fault of its own: the ledger
/// adds it when the last process that served ends.
inline constexpr std::string_view kStoreGone = "store_gone";
/// The process that served it was killed, or told to end, from outside: no agent keeps such a
/// store.
inline constexpr std::string_view kStoreTaken = "store_taken";
/// The process that serves it does not run.
inline constexpr std::string_view kStoreStopped = "store_stopped";
/// By a name that leads astray an agent has come to serve a store of its own beside that of its job,
/// and meets no other agent while both serve, though names may be right again.
inline constexpr std::string_view kStoreOfItsOwn = "store_of_its_own";
/// The clock of a legacy etcd stands still: no key of a dead member ends. The ledger adds it to the
/// fault that stops the clock.
inline constexpr std::string_view kLeasesStopped = "leases_stopped";
/// The schedule keeps a fiber of a process from running, as a busy machine would.
inline constexpr std::string_view kHoldUp = "hold_up";
/// Two living agents of a static job were started with one rank.
inline constexpr std::string_view kRankShared = "rank_shared";

inline constexpr std::array kFaultEffects{
    FaultEffect{"process_signal", 0, Reach::process, Span::instant},
    FaultEffect{"process_pause", kRun, Reach::process, Span::until_over},
    FaultEffect{"process_hang", 0, Reach::process, Span::until_over},
    FaultEffect{"process_exit", 0, Reach::process, Span::instant},
    FaultEffect{"process_unkillable", kKillable | kMortal, Reach::machine, Span::until_over},
    FaultEffect{"process_deaf", kHears, Reach::process, Span::until_over},
    FaultEffect{"process_raise", kOwnErrors, Reach::process, Span::when_felt},
    FaultEffect{"fiber_dies", kTasks, Reach::process, Span::from_felt},
    FaultEffect{"node_crash", 0, Reach::machine, Span::instant},
    FaultEffect{"node_restart", 0, Reach::machine, Span::instant},
    FaultEffect{"net_partition", kPath, Reach::paths, Span::until_over},
    FaultEffect{"net_delay", kPath, Reach::paths, Span::until_over},
    FaultEffect{"net_loss", kPath, Reach::paths, Span::until_over},
    FaultEffect{"net_reset", kPath, Reach::paths, Span::instant},
    FaultEffect{"net_clog", kPath, Reach::paths, Span::until_over},
    FaultEffect{"net_bandwidth", kPath, Reach::paths, Span::until_over},
    FaultEffect{"service_slow", kStore, Reach::everyone, Span::until_over},
    FaultEffect{"service_stop", kStore, Reach::everyone, Span::until_over},
    FaultEffect{"service_error", kStore, Reach::everyone, Span::until_over},
    FaultEffect{"service_reply_lost", kStore, Reach::everyone, Span::when_felt},
    FaultEffect{"clock_skew", kClock, Reach::machine, Span::instant},
    FaultEffect{"clock_jump", kClock, Reach::machine, Span::instant},
    FaultEffect{"clock_drift", 0, Reach::machine, Span::until_over},  // Ledger::drifts
    FaultEffect{"clock_freeze", kClock, Reach::machine, Span::until_over},
    FaultEffect{"dns_alias", kNames, Reach::everyone, Span::from_felt},
    FaultEffect{"dns_unresolvable", kNames, Reach::everyone, Span::from_felt},
    FaultEffect{"port_busy", kStore, Reach::everyone, Span::from_felt},
    FaultEffect{"port_steal", 0, Reach::machine, Span::until_over},
    FaultEffect{"pid_reuse", 0, Reach::machine, Span::instant},
    FaultEffect{"disk_full", 0, Reach::machine, Span::until_over},
    FaultEffect{"disk_short_write", 0, Reach::machine, Span::instant},
    FaultEffect{"disk_stall", kDisk, Reach::machine, Span::from_felt},
    FaultEffect{"spawn_fails", 0, Reach::machine, Span::until_over},
    FaultEffect{"etcd_expiry", kContents, Reach::everyone, Span::instant},
    FaultEffect{"etcd_late_expiry", kContents, Reach::everyone, Span::until_over},
    FaultEffect{"etcd_stale_read", kContents, Reach::everyone, Span::until_over},
    FaultEffect{"etcd_compaction", 0, Reach::everyone, Span::instant},
    FaultEffect{"etcd_leader_loss", kStore, Reach::everyone, Span::until_over},
    FaultEffect{"etcd_unknown_outcome", kStore, Reach::everyone, Span::until_over},
    FaultEffect{"etcd_duplicate_events", 0, Reach::everyone, Span::until_over},
    FaultEffect{kStoreGone, kStore | kContents, Reach::everyone, Span::until_over},
    FaultEffect{kStoreStopped, kStore, Reach::everyone, Span::until_over},
    FaultEffect{kStoreTaken, kStore, Reach::everyone, Span::instant},
    FaultEffect{kStoreOfItsOwn, kNames, Reach::process, Span::until_over},
    FaultEffect{kLeasesStopped, kExpiry, Reach::everyone, Span::until_over},
    FaultEffect{kHoldUp, kRun, Reach::process, Span::until_over},
    FaultEffect{kRankShared, kOwnRank, Reach::everyone, Span::until_over},
};

/// The kind has a line.
constexpr bool has_effect(std::string_view kind) {
  return std::ranges::any_of(kFaultEffects,
                             [&](const FaultEffect& effect) { return effect.kind == kind; });
}

/// Null for a kind that has no line: such a fault excuses no agent.
constexpr const FaultEffect* find_effect(std::string_view kind) {
  const auto* const found = std::ranges::find_if(
      kFaultEffects, [&](const FaultEffect& effect) { return effect.kind == kind; });
  return found == kFaultEffects.end() ? nullptr : found;
}

}  // namespace hooke::properties
