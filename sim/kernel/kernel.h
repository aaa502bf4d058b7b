#pragma once
// The deterministic core: virtual time, a queue of timers, and fibers scheduled one at a time on a
// single thread. Given the same choices it does the same things in the same order, always.
//
// Two kinds of activity. A *callback* runs to its end on the thread's own stack: links, servers and
// timers are callbacks. A *fiber* is code that blocks; it owns a pooled stack. Fibers wait by
// park(); park() itself picks what runs next and switches to it directly, or returns at once when
// that is the caller.
//
// Boost.Fiber supplies the contexts. None of its timed or synchronising calls is used: they read
// the real clock. contexts.h says which of its traps are designed out, and how.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/choice.h"
#include "sim/kernel/schedule.h"
#include "sim/kernel/trace_recorder.h"
#include "sim/port/executor.h"
#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::kernel {

/// Ends a run that does not end by itself. 0 or nullopt: no limit of that kind.
struct RunLimits {
  std::uint64_t steps_max = 0;                     ///< callbacks plus fiber resumptions
  std::optional<sim::WorldTime> world_time_max{};  ///< virtual time
  std::optional<std::chrono::milliseconds>
      wall_time_max{};         ///< real time; never influences the order of steps
  std::size_t fibers_max = 0;  ///< live fibers: bounds the memory of stacks
  std::optional<std::size_t> memory_bytes_max{};  ///< resident memory of the whole program
};

/// Why run() returned.
enum class RunEnd : unsigned char {
  stopped,  ///< somebody called stop()
  idle,     ///< nothing is ready and no timer is pending
  steps_exhausted,
  world_time_exhausted,
  wall_time_exhausted,
  fibers_exhausted,
  memory_exhausted,
  failed,  ///< an exception left a fiber or a callback; see failure()
};
std::string_view to_string(RunEnd end);

/// Names a pending timer; stale handles are harmless.
struct TimerId {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
};

/// What a timer calls: a plain function with a context and a number, so that arming one never
/// allocates.
struct Callback {
  void (*function)(void* context, std::uint64_t argument) = nullptr;
  void* context = nullptr;
  std::uint64_t argument = 0;
};

/// Where time and events come from when they do not come from the kernel itself: the real world.
class Outside {
 public:
  virtual ~Outside() = default;
  /// Blocks until `until` (nullopt: without end) or until something has happened, lets any process
  /// that waits for that know (on the main stack: wakes and callbacks), and returns the time now.
  virtual sim::WorldTime wait(std::optional<sim::WorldTime> until) = 0;
};

/// Says for a fiber that sleeps again and again whether it sleeps on, so that it need not be run for
/// that.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  /// Called when it is the fiber's turn after its deadline. The next deadline, not before now;
  /// nullopt: the fiber goes on. Called on any stack: must neither park nor throw.
  virtual std::optional<sim::WorldTime> sleeps_on() = 0;
};

/// What a sleeper would say of several turns: until then the fiber sleeps on at each, for that span.
struct Doze {
  sim::WorldTime until = sim::WorldTime::min();
  sim::Duration apart{};
};

class Kernel;
struct Context;
struct FiberBlock;

/// Fibers that pause and die together: those of one process. Must be empty (all fibers ended) when
/// destroyed.
class FiberGroup {
 public:
  /// Told when the schedule holds up a fiber of the group, and for how long (Strategy::delays).
  using HoldUpObserver = std::function<void(std::string_view fiber, sim::Duration span)>;
  explicit FiberGroup(Kernel& kernel, HoldUpObserver on_hold_up = {});
  FiberGroup(const FiberGroup&) = delete;
  FiberGroup& operator=(const FiberGroup&) = delete;
  ~FiberGroup();

  /// Wakes every fiber with Killed; park() in this group throws from now on. The fibers unwind one
  /// after the other, the youngest first: what a fiber keeps on its stack for those it has started
  /// outlives them. A fiber of the group that calls this itself goes on until its next park.
  /// Spawning into a killed group does nothing.
  void kill();
  /// Holds back the group's fibers: they become ready but do not run until resume().
  void pause();
  void resume();
  /// Ends one living fiber by name as kill() would; false if there is none of that name.
  bool kill_fiber(std::string_view name);
  /// Moves every pending park deadline of the group to `moved(deadline)`: how a clock that is
  /// stopped or changes its rate reaches fibers that already sleep by it. Returns how many there
  /// were.
  std::size_t move_deadlines(const std::function<sim::WorldTime(sim::WorldTime)>& moved);
  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] std::size_t fiber_count() const { return fibers_.size(); }

 private:
  friend class Kernel;
  friend struct FiberBlock;
  void let_next_unwind();

  Kernel& kernel_;
  HoldUpObserver on_hold_up_;
  std::uint64_t number_;  ///< names it among the groups of its kernel
  std::vector<FiberBlock*>
      fibers_;                     ///< living fibers; ending swaps with the last, deterministically
  std::vector<FiberBlock*> held_;  ///< ready but paused, oldest first
  std::vector<FiberBlock*> dying_;   ///< killed and not yet unwinding, the youngest last
  FiberBlock* unwinding_ = nullptr;  ///< the one of the killed whose turn it is
  bool killed_ = false;
  bool paused_ = false;
};

class Kernel {
 public:
  /// One kernel at a time per thread; std::logic_error otherwise.
  Kernel();
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Starts a new run at time 0. No fiber of an earlier run may be left (checked). `choices` and
  /// `trace` must outlive the run.
  void begin(ChoiceSource& choices, TraceRecorder& trace, RunLimits limits, Schedule schedule);

  /// From now on time is what `outside` says, and its events are looked for whenever no fiber is
  /// ready and every few steps. Such a run never idles. `outside` must outlive the run.
  void follow(Outside& outside);

  /// Runs until stop(), idleness, a limit or a failure. Called on the thread's main stack only.
  RunEnd run();
  /// Lets fibers that are ready run until all are parked or ended, without timers, limits or
  /// virtual time: how killed fibers unwind when a world is taken down.
  void drain();
  /// Takes every ready fiber of a living group out of the queue: before all groups are killed, or
  /// each of them searches the queue for its own.
  void withdraw_ready();
  /// Makes run() return after the current step.
  void stop() { stop_requested_ = true; }
  /// What went wrong when run() returned `failed`: fiber name and exception text.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  [[nodiscard]] sim::WorldTime now() const { return now_; }
  [[nodiscard]] ChoiceSource& choices() { return *choices_; }
  [[nodiscard]] TraceRecorder& trace() { return *trace_; }
  /// The event that the running activity descends from. Timers, wakes and spawns inherit it.
  [[nodiscard]] sim::EventId& cause() { return cause_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  /// Calls `callback` at `when` (not before now). Equal times run in the order they were armed.
  TimerId at(sim::WorldTime when, Callback callback);
  /// True if the timer was pending and now will not fire.
  bool cancel(TimerId timer);

  /// Starts a fiber in `group`; it becomes ready at once.
  sim::FiberId spawn(FiberGroup& group, std::string name, std::function<void()> body);
  /// The calling fiber's ticket for its next park; only inside a fiber.
  [[nodiscard]] sim::ParkTicket ticket() const;
  /// Suspends the calling fiber; see sim::Executor::park. `deadline` is world time. With `sleeper`,
  /// which outlives the call, each turn at which it has the fiber sleep on counts as a step of the
  /// fiber: the trace hash is the same as if the fiber had parked again.
  sim::Wake park(sim::ParkTicket ticket, std::optional<sim::WorldTime> deadline,
                 Sleeper* sleeper = nullptr);
  /// Has a fiber, which is about to park with a sleeper or has, sleep on without asking that; `{}`:
  /// from now on it is asked again. When the fiber goes on the doze is over, too.
  void doze(sim::FiberId fiber, const Doze& doze);
  /// Makes a parked fiber ready; false for a stale ticket. Callable from callbacks and fibers.
  bool wake(sim::ParkTicket ticket);
  /// Parks the calling fiber until `fiber` has ended.
  void join(sim::FiberId fiber);
  /// True inside a fiber, false inside a callback or outside run().
  [[nodiscard]] bool in_fiber() const { return running_ != nullptr; }
  /// Highest number of stack bytes any fiber has used so far, from the stack arena's high-water
  /// marks.
  [[nodiscard]] std::size_t stack_high_water() const;

 private:
  friend class FiberGroup;
  friend struct FiberBlock;
  struct Impl;

  FiberBlock* next_fiber();
  FiberBlock* next_due();
  bool go_on_to(std::int64_t time);
  std::uint32_t place_of(FiberBlock& fiber);
  std::optional<sim::WorldTime> next_turn(FiberBlock& fiber);
  void stir(FiberBlock& fiber);
  FiberBlock* take_ready();
  bool hold_up(FiberBlock& fiber);
  bool sleeps_on(FiberBlock& fiber);
  void run_callback();
  void look_outside();
  void resume(FiberBlock& fiber, Context& from);
  void leave(FiberBlock& self);
  void end_task(FiberBlock& self);
  void make_ready(FiberBlock& fiber, sim::Wake wake);
  void awaken(FiberBlock& fiber, sim::Wake wake);
  void queue(FiberBlock& fiber);
  void arm_deadline(FiberBlock& fiber, sim::WorldTime deadline);
  bool cancel_deadline(FiberBlock& fiber);
  [[noreturn]] void die(FiberBlock& self);
  void begin_step(FiberBlock& fiber);
  void count_step(std::uint64_t actor);

  sim::WorldTime now_{};
  sim::EventId cause_{};
  std::uint64_t steps_ = 0;
  std::uint64_t groups_ = 0;
  ChoiceSource* choices_ = nullptr;
  TraceRecorder* trace_ = nullptr;
  FiberBlock* running_ = nullptr;  ///< null while a callback or the owner of the kernel runs
  bool stop_requested_ = false;
  std::string failure_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hooke::kernel
