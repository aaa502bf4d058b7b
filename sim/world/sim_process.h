#pragma once
// One process incarnation: all its ports in one object, because they share one fate. When it has
// died every port is a silent no-op and park() throws Killed; the object stays until the world
// goes, so that unwinding fibers never touch freed memory.

#include <map>
#include <string>
#include <vector>

#include "sim/world/machine.h"
#include "sim/world/sim_network.h"
#include "sim/world/world_events.h"

namespace hooke::world {

class ProcessTable;
class Resting;

class SimProcess final : public sim::Clock,
                         public sim::Executor,
                         public sim::Network,
                         public sim::ProcessHost,
                         public sim::Random,
                         public sim::Trace,
                         public sim::FaultPoint {
 public:
  SimProcess(ProcessTable& table, Machine& machine, sim::Pid pid, SimProcess* parent,
             sim::SpawnRequest request);

  // Clock
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override;
  [[nodiscard]] sim::WallTime wall_now() const override;
  // Executor
  sim::FiberId spawn(std::string name, std::function<void()> body) override;
  void join(sim::FiberId fiber) override;
  [[nodiscard]] sim::ParkTicket ticket() override;
  sim::Wake park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline) override;
  bool wake(sim::ParkTicket ticket) override;
  // Network
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_loopback(
      sim::PortNumber port, sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber port,
                                                      sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(
      const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string& path,
                                                            sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string& path, std::optional<sim::MonotonicTime> deadline) override;
  /// Connects without the protection: what it guards against does not happen in this world.
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const sim::Endpoint& to, const sim::TlsOptions& tls,
      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::vector<std::string>> resolve(const std::string& host) override;
  sim::Outcome<std::string> canonical_name(const std::string& host) override;
  [[nodiscard]] std::string host_name() const override { return machine_.name; }
  [[nodiscard]] std::string fully_qualified_name() const override { return machine_.name; }
  // ProcessHost
  [[nodiscard]] sim::Pid self() const override { return pid_; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const override {
    return request_.environment;
  }
  [[nodiscard]] const std::vector<std::string>& arguments() const override { return request_.argv; }
  sim::Outcome<sim::Pid> spawn(const sim::SpawnRequest& request) override;
  sim::Outcome<sim::Done> signal(sim::Pid pid, sim::Signal signal) override;
  sim::Outcome<sim::Done> signal_group(sim::Pid leader, sim::Signal signal) override;
  [[nodiscard]] std::optional<char> state(sim::Pid pid) override;
  std::optional<sim::ExitStatus> poll(sim::Pid child) override;
  std::optional<sim::ExitStatus> wait(sim::Pid child,
                                      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<sim::Done> catch_signal(sim::Signal signal) override;
  std::optional<sim::Signal> take_signal() override;
  [[nodiscard]] bool signal_pending() override { return !pending_.empty(); }
  bool wait_signal(std::optional<sim::MonotonicTime> deadline) override;
  bool wait_signal(sim::MonotonicTime deadline, sim::Lookout& lookout) override;
  [[nodiscard]] bool may_have_ended_children() override { return unreaped_ > 0; }
  // Random, Trace, FaultPoint
  std::uint64_t below(std::string_view purpose, std::uint64_t bound) override;
  sim::EventId emit(const sim::EventType& type,
                    std::initializer_list<sim::FieldValue> fields) override;
  void reach(std::string_view name) override;
  void raise_by(Raiser raiser) override { raiser_ = raiser; }

  // For the world.
  [[nodiscard]] Machine& machine() const { return machine_; }
  /// Valid for as long as the world: fibers that unwind may still hold on to it.
  [[nodiscard]] sim::Ports& ports() { return ports_; }
  [[nodiscard]] bool dead() const { return ended_.has_value(); }
  /// Runs nothing at present: paused or hung.
  [[nodiscard]] bool held() const { return group_.paused(); }
  /// Something happens to the process, or one of its fibers or handlers has run, or is about to: what
  /// its lookout has said of looks to come may be wrong now.
  void touch() {
    if (resting_ != nullptr) ask_again();
  }
  /// Emits in this process' name even when it has died (what the machine says about it).
  sim::EventId emit_fixed(const sim::EventType& type,
                          std::initializer_list<sim::FieldValue> fields);

  /// The main fiber raises `error` at the next fault point, or at the one where it is.
  void raise_at_point(FaultId fault, std::string error) {
    errors_.emplace_back(fault, std::move(error));
  }
  void raise_no_more(FaultId fault) {
    std::erase_if(errors_, [&](const auto& entry) { return entry.first == fault; });
  }

  /// A message has been sent on a connection that the process has made, or one is being made.
  void count_request(std::uint32_t messages, std::uint32_t connects);

  std::vector<SocketId> sockets;  ///< those that are open, in no particular order

 private:
  friend class ProcessTable;
  friend class Resting;

  /// After something that may have hit this very process: a fiber of a dead or stopped process does
  /// not go on.
  void stay_if_hit();
  /// What a fault has the calling fiber raise, if it is the main one.
  void raise_what_is_due();
  /// When a fiber that waits until `deadline` is woken.
  [[nodiscard]] sim::WorldTime due(sim::MonotonicTime deadline) const;
  sim::Wake park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline,
                 Resting* resting);
  bool await_signal(std::optional<sim::MonotonicTime> deadline, Resting* resting);
  void ask_again();
  /// Says what has been asked since the last time, if anything.
  void tell_requests();
  /// Draws on a machine with clock faults: those that no process has felt yet are felt now.
  void feel_clock_faults(std::vector<FaultId>& unfelt) const;

  ProcessTable& table_;
  Machine& machine_;
  sim::Pid pid_;
  sim::Pid process_group_;
  SimProcess* parent_;  ///< null: init
  sim::SpawnRequest request_;
  std::uint32_t number_on_machine_;
  Resting* resting_ = nullptr;  ///< what asks the main fiber's lookout while it sleeps
  sim::Duration ahead_{};       ///< what the clock shows is so far ahead while a lookout is asked
  kernel::FiberGroup group_;
  sim::FiberId main_{};  ///< runs the program
  SimFiles files_;
  sim::Ports ports_;
  sim::EventId born_{};

  std::vector<SimProcess*> children_;
  std::vector<sim::ParkTicket> waiters_;  ///< fibers of the parent that wait for our end
  std::optional<sim::ExitStatus> ended_;
  std::uint32_t unreaped_ = 0;  ///< children that have ended
  bool reaped_ = false;

  std::vector<sim::Signal> caught_;
  std::vector<sim::Signal> pending_;      ///< caught and not yet taken
  std::vector<sim::Signal> undelivered_;  ///< arrived while stopped, unkillable or deaf
  std::optional<sim::ParkTicket> signal_waiter_;
  std::vector<std::pair<FaultId, std::string>> errors_;  ///< to be raised, one at each fault point
  Raiser raiser_ = nullptr;
  bool stopped_ = false;
  bool hung_ = false;
  bool unkillable_ = false;
  bool deaf_ = false;

  struct Requests {
    sim::WorldTime since{};  ///< the first of them
    std::uint32_t connects = 0;
    std::uint32_t messages = 0;
  };
  Requests requests_;
  bool from_outside_;  ///< only of such a process are they counted: those are few

  struct Draws {
    std::string_view purpose;
    kernel::Stream stream;
  };
  std::vector<Draws> draws_;
};

}  // namespace hooke::world
