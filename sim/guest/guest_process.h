#pragma once
// The state of one guest, and what its threads ask of the machine.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/guest/guest.h"

namespace hooke::guest {

class GuestProcess {
 public:
  GuestProcess(sim::Ports& ports, Zygote& zygote, Services& services, const GuestOptions& options);
  /// Kills the real process.
  ~GuestProcess();
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  /// Serves the main thread to the guest's end; the exit code.
  int run();

 private:
  /// How a request ended: by itself, by its time-out, or because a signal is to be handled.
  /// A thread that dies is told so, whatever it asks for, until it has ended.
  enum class Reason : unsigned char { done, timed_out, signalled, dies };
  struct Answer {
    Message value;
    Reason reason = Reason::done;
  };
  using Method = Answer (GuestProcess::*)(std::size_t slot, const Message& arguments);
  struct Handler;

  struct Thread {
    bool alive = false;
    std::string name;
    std::optional<sim::ParkTicket>
        parked;                    ///< while a wake, or for the main thread a signal, ends it
    Reason reason = Reason::done;  ///< of that wake
  };

  /// Answers and asks again until the thread ends, or the guest does: then with an exit code.
  std::optional<int> serve(std::size_t slot);
  Message exchange(std::size_t slot, const Answer& answer);
  [[noreturn]] void fail_silent(std::size_t slot);
  [[noreturn]] void fail_fallen(std::size_t slot);
  Answer perform(std::size_t slot, const Message::List& request);

  void take_note(const Message::List& note);
  void start_thread(std::size_t slot, const std::string& name);
  /// A fault has killed the fiber of that thread alone: Python's ends, and gives up what it holds.
  void end_thread(std::size_t slot);
  void wake(std::size_t slot, Reason reason);
  void catch_signal(std::int64_t number);
  void listen_for_signals();
  /// Takes those that have come; whether there was one.
  bool take_signals();

  Answer park(std::size_t slot, const std::optional<sim::MonotonicTime>& deadline);
  std::optional<sim::ExitStatus> reap(sim::Pid child);
  [[nodiscard]] Message::List ended_children();

  // The requests, each with its arguments in their order.
  Answer on_park(std::size_t slot, const Message& arguments);
  Answer on_spawn(std::size_t slot, const Message& arguments);
  Answer on_poll(std::size_t slot, const Message& arguments);
  Answer on_wait(std::size_t slot, const Message& arguments);
  Answer on_kill(std::size_t slot, const Message& arguments);
  Answer on_kill_group(std::size_t slot, const Message& arguments);
  Answer on_resolve(std::size_t slot, const Message& arguments);
  Answer on_listen(std::size_t slot, const Message& arguments);
  Answer on_close_listener(std::size_t slot, const Message& arguments);
  Answer on_seed(std::size_t slot, const Message& arguments);
  Answer on_fail(std::size_t slot, const Message& arguments);
  // Those of files and FIFOs (guest_files.cpp).
  Answer on_exists(std::size_t slot, const Message& arguments);
  Answer on_kind(std::size_t slot, const Message& arguments);
  Answer on_remove(std::size_t slot, const Message& arguments);
  Answer on_make_directory(std::size_t slot, const Message& arguments);
  Answer on_make_directories(std::size_t slot, const Message& arguments);
  Answer on_remove_tree(std::size_t slot, const Message& arguments);
  Answer on_list(std::size_t slot, const Message& arguments);
  Answer on_read(std::size_t slot, const Message& arguments);
  Answer on_write(std::size_t slot, const Message& arguments);
  Answer on_make_fifo(std::size_t slot, const Message& arguments);
  Answer on_open_fifo(std::size_t slot, const Message& arguments);
  Answer on_read_fifo(std::size_t slot, const Message& arguments);
  Answer on_close_fifo(std::size_t slot, const Message& arguments);
  Answer signal(const Message& arguments, bool group);

  struct Refuser final : sim::AcceptHandler {
    void on_accept(std::unique_ptr<sim::Stream> stream) override { stream->reset(); }
  };

  sim::Ports& ports_;
  Zygote& zygote_;
  Services& services_;
  std::chrono::milliseconds silence_max_;
  Zygote::Born born_;
  std::array<Thread, kThreadsMax> threads_;
  std::vector<std::int64_t> signals_;  ///< caught, not yet told to the main thread
  bool listens_for_signals_ = false;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);  ///< false when this has gone
  std::set<sim::Pid> children_;                                    ///< not known to have ended
  std::map<sim::Pid, sim::ExitStatus> reaped_;
  std::set<sim::Pid> waited_for_;  ///< a fiber waits for its end
  Refuser refuser_;
  std::map<sim::PortNumber, std::unique_ptr<sim::Listener>> listeners_;
  std::map<std::int64_t, std::unique_ptr<sim::FifoReader>> readers_;
  std::int64_t last_reader_ = 0;
};

}  // namespace hooke::guest
