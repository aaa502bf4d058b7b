#pragma once
// Children of this process, and the signals it gets.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/port/executor.h"
#include "sim/port/process_host.h"
#include "sim/real/event_loop.h"

namespace hooke::real {

class RealProcessHost final : public sim::ProcessHost {
 public:
  RealProcessHost(EventLoop& loop, sim::Executor& executor, std::vector<std::string> arguments);
  ~RealProcessHost() override;
  RealProcessHost(const RealProcessHost&) = delete;
  RealProcessHost& operator=(const RealProcessHost&) = delete;

  [[nodiscard]] sim::Pid self() const override;
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return environment_;
  }
  [[nodiscard]] const std::vector<std::string>& arguments() const override { return arguments_; }
  /// The program is looked for in this process' PATH.
  sim::Outcome<sim::Pid> spawn(const sim::SpawnRequest& request) override;
  sim::Outcome<sim::Done> signal(sim::Pid pid, sim::Signal signal) override;
  sim::Outcome<sim::Done> signal_group(sim::Pid leader, sim::Signal signal) override;
  [[nodiscard]] std::optional<char> state(sim::Pid pid) override;
  std::optional<sim::ExitStatus> poll(sim::Pid child) override;
  std::optional<sim::ExitStatus> wait(sim::Pid child,
                                      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<sim::Done> catch_signal(sim::Signal signal) override;
  std::optional<sim::Signal> take_signal() override;
  [[nodiscard]] bool signal_pending() override;
  using sim::ProcessHost::wait_signal;  // a process of this machine looks itself
  bool wait_signal(std::optional<sim::MonotonicTime> deadline) override;

 private:
  class Child;
  class SignalQueue;

  EventLoop& loop_;
  sim::Executor& executor_;
  std::vector<std::string> arguments_;
  std::map<std::string, std::string> environment_;
  std::map<sim::Pid, std::unique_ptr<Child>> children_;
  std::unique_ptr<SignalQueue> signals_;  ///< from the first caught signal on
};

}  // namespace hooke::real
