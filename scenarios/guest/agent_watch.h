#pragma once
// What a Python agent does, in the vocabulary of the model, so that the same invariants are judged:
// from what it says to its store, from the workers that it starts and stops, and from its log.
// Nothing of PyTorch is changed for it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/launch/launch_agent.h"
#include "scenarios/guest/guest_stores.h"
#include "scenarios/guest/state_watch.h"
#include "scenarios/guest/timer_watch.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

class AgentWatch {
 public:
  /// Tells that the agent has started, and with which settings. Both must outlive this.
  AgentWatch(sim::Ports& ports, const model::LaunchConfig& config);

  void on_line(std::string_view line);
  void on_store(const StoreCall& call);
  /// The workers of the round are to have ranks from `base_rank` on, of `world_size`.
  void on_ranks(std::int64_t base_rank, std::int64_t world_size);
  void on_spawned(sim::Pid child, const sim::SpawnRequest& request);
  void on_signalled(sim::Pid target, sim::Signal signal);
  void on_reaped(sim::Pid child, int status);
  /// torchrun names that worker's failure as the first.
  void on_failure(std::int64_t rank, std::int64_t pid, std::int64_t status);
  /// next_rendezvous has raised an exception of that class. After the agent has its seat this says
  /// nothing: the model tells of no failure of what comes then.
  void on_join_failed(const std::string& error, const std::string& text);
  TimerWatch& timers() { return timers_; }
  /// The exit barrier has raised an exception of that class, of which a line follows.
  void on_barrier_failed(const std::string& error) { barrier_error_ = error; }
  /// An exception of that class, raised for that signal, has ended the agent.
  void on_own_signal(std::int64_t signal, const std::string& error);
  /// torchrun's main function has returned, or has raised an exception of that class, with which
  /// the interpreter ends; `signal` is the one that it was raised for, 0 for none.
  void on_ended(const std::string& error, const std::string& text, std::int64_t signal,
                std::int64_t exit_code);

 private:
  struct Worker {
    std::int64_t local_rank = 0, rank = 0;
    bool stopped = false;
    sim::MonotonicTime sleeps_since{}, killed_at{};
  };
  struct Group {
    std::int64_t rank = 0, size = 0, round = -1, restarts = 0;
    std::int64_t started = 0;  ///< workers of the present attempt
    std::string state;
  };
  void announce();
  void on_joining(std::string_view line);
  void on_joined(std::string_view line);
  void on_exit_barrier(std::string_view line);
  void on_sleeper(std::string_view line, sim::Pid pid);
  void tell_joined();
  void enter(const char* state);
  void restarts(const char* cause, std::int64_t remaining);

  sim::Ports& ports_;
  const model::LaunchConfig& config_;
  bool shares_store_;
  StateWatch state_;
  TimerWatch timers_;
  std::string descriptor_;
  std::optional<Group> joining_;  ///< has a seat, and does not know yet where the workers meet
  bool knows_master_ = false;
  bool serves_workers_ = false;  ///< as rank 0 it has said where they meet
  std::string master_addr_;
  std::int64_t master_port_ = 0;
  Group group_;
  std::map<sim::Pid, Worker> workers_;
  std::int64_t remaining_restarts_;
  std::optional<sim::MonotonicTime> in_exit_barrier_;
  std::string barrier_error_;  ///< the class
  bool left_gracefully_ = false;
  bool in_join_ = false;
};

}  // namespace hooke::scenario
