// Arguments, then others, then the end.
#include "model/rendezvous/core/shutdown.h"

#include <stdexcept>

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// How often the others are looked for.
constexpr sim::Duration kLook = std::chrono::seconds(1);

}  // namespace

std::int64_t RendezvousShutdown::others_at_work() {
  try {
    return handler_->others_at_work();
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception&) {
    return 0;  // no agent can be waited for over a store that is dead
  }
}

bool RendezvousShutdown::operator()(const ShutdownOptions& options) {
  if (options.timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the timeout of a shutdown must be greater than zero, got " +
                                std::to_string(options.timeout.count()) + " ns");
  }
  if (options.graceful && options.strict) {
    throw std::invalid_argument("a shutdown is either graceful or strict, not both");
  }
  if (result_) return *result_;
  HOOKE_CHECK(handler_ != nullptr, "a shutdown without a result has its handler");
  if (options.strict) {
    if (const std::int64_t others = others_at_work(); others > 0) {
      throw RendezvousStateError("the workflow is still in progress: " + std::to_string(others) +
                                 " other participants are at work");
    }
  }
  if (options.graceful) {
    const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + options.timeout;
    while (others_at_work() > 0 && ports_.clock.monotonic_now() < give_up) {
      interruptible_sleep(ports_,
                          std::min<sim::Duration>(kLook, give_up - ports_.clock.monotonic_now()));
    }
  }
  result_ = options.instead ? options.instead(*handler_) : handler_->shutdown();
  handler_ = nullptr;
  return *result_;
}

}  // namespace hooke::model
