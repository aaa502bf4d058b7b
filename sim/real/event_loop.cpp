// The only place in which the real world's time passes.
#include "sim/real/event_loop.h"

#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include "sim/port/check.h"

namespace hooke::real {
namespace {

constexpr std::size_t kEventsPerLook = 256;

/// How long a loop whose last sleep was at most as long looks again and again before it sleeps:
/// going to sleep and being woken takes a machine longer than a request to a store.
constexpr sim::Duration kWorthLooking = std::chrono::microseconds{100};

sim::Duration machine_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), arrived_(kEventsPerLook) {
  if (!epoll_) fail("epoll_create1");
}

sim::WorldTime EventLoop::now() const {
  return sim::WorldTime(machine_time());
}

WatchId EventLoop::watch(int fd, Watcher& watcher) {
  HOOKE_CHECK(fd >= 0, "a descriptor that is watched is open");
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const WatchId id{free_.back(), slots_[free_.back()].generation};
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = std::uint64_t{id.generation} << 32U | id.slot;
  HOOKE_CHECK(id.slot < slots_.size(), "a watch has a slot");
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
  free_.pop_back();
  HOOKE_CHECK(slots_[id.slot].watcher == nullptr, "a free slot has no watcher");
  slots_[id.slot].watcher = &watcher;
  return id;
}

void EventLoop::forget(int fd, WatchId id) {
  if (id.slot >= slots_.size() || slots_[id.slot].generation != id.generation) return;
  epoll_event ignored{};
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &ignored);
  HOOKE_CHECK(slots_[id.slot].watcher != nullptr, "a watch that is forgotten has a watcher");
  ++slots_[id.slot].generation;
  slots_[id.slot].watcher = nullptr;
  free_.push_back(id.slot);
  HOOKE_CHECK(free_.size() <= slots_.size(), "a slot is free once");
}

void EventLoop::again(WatchId id, std::uint32_t events) {
  HOOKE_CHECK(id.slot < slots_.size() && events != 0,
              "what is told again is a watch, of something");
  again_.push_back({id, events});
}

void EventLoop::tell(WatchId id, std::uint32_t events) {
  if (id.slot >= slots_.size() || slots_[id.slot].generation != id.generation) return;
  HOOKE_CHECK(slots_[id.slot].watcher != nullptr, "a watch that is told has a watcher");
  HOOKE_CHECK(events != 0, "a watcher is told of something");
  slots_[id.slot].watcher->on_ready(events);
}

std::size_t EventLoop::look(std::optional<sim::Duration> at_most) {
  HOOKE_CHECK(!at_most || *at_most >= sim::Duration::zero(), "the loop does not sleep backwards");
  timespec span{};
  if (at_most) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*at_most);
    span.tv_sec = seconds.count();
    span.tv_nsec = (*at_most - seconds).count();
  }
  HOOKE_CHECK(0 <= span.tv_nsec && span.tv_nsec < 1'000'000'000, "a second is counted as one");
  const int count = epoll_pwait2(epoll_.get(), arrived_.data(), static_cast<int>(arrived_.size()),
                                 at_most ? &span : nullptr, nullptr);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2");
  HOOKE_CHECK(count <= static_cast<int>(arrived_.size()),
              "no more events come than there is room for");
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

std::size_t EventLoop::sleep(std::optional<sim::WorldTime> until) {
  const sim::WorldTime began = now();
  const auto left = [&](sim::WorldTime from) -> std::optional<sim::Duration> {
    if (!until) return std::nullopt;
    return std::max(*until - from, sim::Duration::zero());
  };
  const sim::WorldTime awake_until =
      std::min(began + (brisk_ ? kWorthLooking : sim::Duration::zero()),
               until.value_or(began + kWorthLooking));
  std::size_t count = 0;
  sim::WorldTime current = began;
  while (current < awake_until && count == 0) {
    count = look(sim::Duration::zero());
    current = now();
    HOOKE_CHECK(current >= began, "a monotonic clock goes forward");
  }
  if (count == 0) count = look(left(current));
  brisk_ = count > 0 && now() - began <= kWorthLooking;
  return count;
}

sim::WorldTime EventLoop::wait(std::optional<sim::WorldTime> until) {
  const std::size_t count = again_.empty() ? sleep(until) : look(sim::Duration::zero());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t id = arrived_[i].data.u64;
    tell({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32U)},
         arrived_[i].events);
  }
  for (const Again& once : std::exchange(again_, {})) tell(once.id, once.events);
  return now();
}

}  // namespace hooke::real
