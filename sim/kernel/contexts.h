#pragma once
// Boost.Fiber as a supplier of contexts, and nothing more. Internal to the kernel.
//
// Traps of Boost.Fiber that are designed out here:
//  - Timed calls and Boost's own mutexes read the real clock: none is used.
//  - A second algorithm object on a thread crashes: one lives as long as its thread, see Algorithm.
//  - Returning the suspending context from pick_next crashes: the kernel never asks for that
//  switch.
//  - The dispatcher context must be handed out once in a while or ended stacks pile up: fibers here
//  never
//    end during a run, they are pooled; at shutdown the dispatcher is given its turn.
//  - Exception state belongs to the thread, not to the fiber (before Boost 1.88), so parking inside
//  a catch
//    block would swap exceptions between fibers: it is saved and restored at every switch.
//  - Packaged Boost.Context tells AddressSanitizer nothing: every switch is announced here.

#include <boost/fiber/context.hpp>
#include <boost/fiber/fiber.hpp>
#include <cstddef>
#include <vector>

#include "sim/kernel/stack_arena.h"

namespace hooke::kernel {

class Algorithm;

/// What the C++ runtime keeps per thread about exceptions in flight (Itanium ABI,
/// __cxa_eh_globals).
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

/// One suspended flow of control: a pooled fiber, or the thread's main stack.
struct Context {
  boost::fibers::context* boost = nullptr;
  ExceptionState exceptions;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* sanitizer_stack = nullptr;
};

/// Switches between the main stack and pooled fibers of one thread.
class Contexts {
 public:
  /// A pooled fiber's code: runs tasks one after the other and returns when shutting_down().
  using Body = void (*)(void* argument);

  Contexts();
  /// Ends all pooled fibers; each must be suspended between two tasks.
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// Makes `self`, which must outlive this, a suspended fiber that will call `body(argument)` when
  /// first switched to.
  void create(Context& self, Body body, void* argument);
  [[nodiscard]] Context* main() { return &main_; }
  /// Suspends `from` (the running one) and runs `to`, which is another one.
  void switch_to(Context& from, Context& to);
  /// True while the destructor ends the pooled fibers.
  [[nodiscard]] bool shutting_down() const { return shutting_down_; }
  [[nodiscard]] const StackArena& arena() const { return arena_; }

 private:
  struct Pooled;
  void arrived(Context& self);

  Algorithm* algorithm_;
  ExceptionState* exceptions_;
  StackArena arena_;
  Context main_;
  std::vector<Pooled> pooled_;
  bool shutting_down_ = false;
};

}  // namespace hooke::kernel
