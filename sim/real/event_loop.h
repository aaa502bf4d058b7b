#pragma once
// What the kernel follows in the real world: the machine's monotonic clock, and epoll. Descriptors
// are watched edge-triggered: a process that is told that something can be read or written goes on
// until it would block.

#include <sys/epoll.h>

#include <cstdint>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/real/descriptor.h"

namespace hooke::real {

/// An observer of a descriptor; called on the main stack, must not block. May stop
/// watching, and destroy itself, inside the call.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// `events`: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR, EPOLLRDHUP, as epoll_wait gives them.
  virtual void on_ready(std::uint32_t events) = 0;
};

/// Names a watched descriptor; stale handles are harmless.
struct WatchId {
  std::uint32_t slot = 0xffffffffU;
  std::uint32_t generation = 0;
};

class EventLoop final : public kernel::Outside {
 public:
  /// std::system_error when the machine gives no epoll descriptor.
  EventLoop();

  /// Tells `watcher` whenever `fd` becomes readable or writable. std::system_error when the
  /// descriptor cannot be watched.
  WatchId watch(int fd, Watcher& watcher);
  /// From now on nothing more is told; must come before the descriptor is closed.
  void forget(int fd, WatchId id);
  /// Tells the watcher once more at the next look, as if `events` had come from outside: how one
  /// that has left something undone lets others go first.
  void again(WatchId id, std::uint32_t events);

  sim::WorldTime wait(std::optional<sim::WorldTime> until) override;
  /// What the monotonic clock of the machine says: the same for all its processes, so that their
  /// traces can be laid side by side.
  [[nodiscard]] sim::WorldTime now() const;

 private:
  struct Slot {
    Watcher* watcher = nullptr;
    std::uint32_t generation = 0;
  };
  struct Again {
    WatchId id;
    std::uint32_t events;
  };
  void tell(WatchId id, std::uint32_t events);
  /// Fills `arrived_`, waiting for something to come for at most `at_most`, or for ever. Returns
  /// how many came.
  std::size_t look(std::optional<sim::Duration> at_most);
  /// As look(), but while answers come fast it stays awake for a moment first.
  std::size_t sleep(std::optional<sim::WorldTime> until);

  Descriptor epoll_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Again> again_;
  std::vector<epoll_event> arrived_;
  bool brisk_ = false;  // the last sleep was short
};

}  // namespace hooke::real
