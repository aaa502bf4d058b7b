// The Boost.Fiber algorithm and the switches. During a run every switch is the kernel's, to a
// context that it names, and the algorithm is not asked. Only at shutdown, when fibers end and main
// joins them, it picks what runs next.
#include "sim/kernel/contexts.h"

#include <cxxabi.h>
#include <pthread.h>

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/operations.hpp>
#include <deque>
#include <stdexcept>
#include <utility>

#include "sim/kernel/sanitizer.h"
#include "sim/port/check.h"

namespace hooke::kernel {

using boost::fibers::context;

namespace {

void announce_leaving(Context* from, const void* bottom, std::size_t bytes) {
#ifdef HOOKE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(from == nullptr ? nullptr : &from->sanitizer_stack, bottom, bytes);
#else
  static_cast<void>(from);
  static_cast<void>(bottom);
  static_cast<void>(bytes);
#endif
}

void announce_arrival(Context* self) {
#ifdef HOOKE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(self == nullptr ? nullptr : self->sanitizer_stack, nullptr,
                                  nullptr);
#else
  static_cast<void>(self);
#endif
}

ExceptionState& thread_exceptions() {
  return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

/// Lets Boost place a fiber on a slot of the arena.
class SlotAllocator {
 public:
  SlotAllocator(StackArena& arena, StackArena::Slot slot) : arena_(&arena), slot_(slot) {}
  boost::context::stack_context allocate() {
    boost::context::stack_context stack;
    stack.sp = slot_.top;
    stack.size = slot_.size();
    return stack;
  }
  void deallocate(boost::context::stack_context&) noexcept { arena_->give_back(slot_); }

 private:
  StackArena* arena_;
  StackArena::Slot slot_;
};

}  // namespace

/// At set-up and shutdown a plain first-in first-out scheduler that lets the dispatcher, which frees
/// ended fibers, run before anything else; a fiber that ends plans what runs next.
class Algorithm final : public boost::fibers::algo::algorithm {
 public:
  /// The one algorithm of this thread, installed on first use and living as long as the thread.
  static Algorithm& of_this_thread() {
    thread_local Algorithm* installed = nullptr;
    if (installed == nullptr) {
      boost::fibers::use_scheduling_algorithm<Algorithm>(&installed);
    }
    return *installed;
  }

  explicit Algorithm(Algorithm** self) { *self = this; }

  void plan(context* next) { planned_ = next; }
  /// The context made ready most recently, removed again: how a fresh fiber is kept suspended.
  context* take_newest() {
    HOOKE_CHECK(!ready_.empty(), "a fresh fiber reports itself ready");
    context* const newest = ready_.back();
    ready_.pop_back();
    return newest;
  }

  void awakened(context* fiber) noexcept override {
    if (fiber->is_context(boost::fibers::type::dispatcher_context)) {
      dispatcher_ = fiber;
    } else {
      ready_.push_back(fiber);
    }
  }

  context* pick_next() noexcept override {
    if (context* const next = std::exchange(planned_, nullptr)) return next;
    if (dispatcher_ != nullptr) return std::exchange(dispatcher_, nullptr);
    if (ready_.empty()) return nullptr;
    context* const next = ready_.front();
    ready_.pop_front();
    return next;
  }

  bool has_ready_fibers() const noexcept override { return !ready_.empty(); }

  void suspend_until(const std::chrono::steady_clock::time_point&) noexcept override {
    check_failed_waiting();
  }
  void notify() noexcept override {}

 private:
  [[noreturn]] static void check_failed_waiting() noexcept {
    sim::check_failed("a fiber is ready", __FILE__, __LINE__,
                      "the thread would block for ever: every fiber waits for another");
  }

  context* planned_ = nullptr;
  context* dispatcher_ = nullptr;
  std::deque<context*> ready_;
};

struct Contexts::Pooled {
  Context* context;
  boost::fibers::fiber fiber;
};

Contexts::Contexts() : algorithm_(&Algorithm::of_this_thread()), exceptions_(&thread_exceptions()) {
  main_.boost = context::active();
  pthread_attr_t attributes;
  void* bottom = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    throw std::runtime_error(
        "the bounds of this thread's stack are not to be had: is /proc mounted?");
  }
  pthread_attr_getstack(&attributes, &bottom, &bytes);
  pthread_attr_destroy(&attributes);
  HOOKE_CHECK(bottom != nullptr && bytes > 0, "the main stack has bounds");
  main_.stack_bottom = bottom;
  main_.stack_bytes = bytes;
}

Contexts::~Contexts() {
  HOOKE_CHECK(!shutting_down_, "the pool is shut down once");
  shutting_down_ = true;
  for (Pooled& pooled : pooled_) {
    switch_to(main_, *pooled.context);  // its body returns, Boost ends it and comes back here
    pooled.fiber.join();                // already ended: only gives up the handle
  }
  boost::this_fiber::yield();  // the dispatcher's turn: it gives the stacks back to the arena
}

void Contexts::create(Context& self, Body body, void* argument) {
  const StackArena::Slot slot = arena_.take();
  HOOKE_CHECK(slot.size() > 0, "a stack has room");
  self.stack_bottom = slot.bottom;
  self.stack_bytes = slot.size();
  boost::fibers::fiber fiber(boost::fibers::launch::post, std::allocator_arg,
                             SlotAllocator(arena_, slot), [this, &self, body, argument] {
                               arrived(self);
                               body(argument);
                               HOOKE_CHECK(shutting_down_, "a pooled fiber ends only at shutdown");
                               algorithm_->plan(main_.boost);
                               announce_leaving(nullptr, main_.stack_bottom, main_.stack_bytes);
                             });
  self.boost = algorithm_->take_newest();
  HOOKE_CHECK(self.boost != nullptr, "a fresh fiber has a context");
  pooled_.push_back({&self, std::move(fiber)});
}

void Contexts::switch_to(Context& from, Context& to) {
  HOOKE_CHECK(&from != &to, "switching to oneself is the caller's business");
  HOOKE_CHECK(from.boost != nullptr && to.boost != nullptr, "both ends of a switch have a context");
  ExceptionState& exceptions = *exceptions_;
  from.exceptions = exceptions;
  exceptions = to.exceptions;
  announce_leaving(&from, to.stack_bottom, to.stack_bytes);
  // Straight there: suspend() would first ask the algorithm, which would have to be told.
  to.boost->resume();
  announce_arrival(&from);
}

void Contexts::arrived(Context&) {
  announce_arrival(nullptr);
}

}  // namespace hooke::kernel
