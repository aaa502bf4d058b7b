#pragma once
// What the harness still has to do in a run, by time. Everything that acts from outside the
// processes (the timeline, a scheduler that restarts agents) goes through here, so that the run
// knows when nothing is left to come.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "sim/kernel/kernel.h"
#include "sim/port/check.h"

namespace hooke::scenario {

class Agenda {
 public:
  explicit Agenda(kernel::Kernel& kernel) : kernel_(kernel) {}
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  /// Does `action` in a kernel callback `after` from now (not negative); items of one instant in
  /// the order they were put here. Callable from sinks, callbacks and fibers.
  void later(sim::Duration after, std::function<void()> action) {
    HOOKE_CHECK(after >= sim::Duration::zero() && action != nullptr,
                "what is on the agenda is something to do from now on");
    items_.emplace(next_, std::move(action));
    kernel_.at(kernel_.now() + after, {&Agenda::on_time, this, next_});
    ++next_;
  }
  /// Called after each item, when it is off the agenda.
  void after_each(std::function<void()> check) { check_ = std::move(check); }
  [[nodiscard]] bool empty() const { return items_.empty(); }

 private:
  static void on_time(void* self, std::uint64_t number) {
    auto& agenda = *static_cast<Agenda*>(self);
    const auto item = agenda.items_.extract(number);
    HOOKE_CHECK(!item.empty(), "what is due is on the agenda, and is done once");
    item.mapped()();
    if (agenda.check_) agenda.check_();
  }

  kernel::Kernel& kernel_;
  std::map<std::uint64_t, std::function<void()>> items_;
  std::uint64_t next_ = 0;
  std::function<void()> check_;
};

}  // namespace hooke::scenario
