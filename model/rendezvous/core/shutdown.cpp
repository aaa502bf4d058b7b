// Which others are at work first, then what may be done about that, then the shutdown of a handler
// that is owned.
#include "model/rendezvous/core/shutdown.h"

#include <algorithm>
#include <stdexcept>

#include "model/observe/shutdown_events.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// How often the others are looked for.
constexpr sim::Duration kLook = std::chrono::seconds(1);

/// Of the job's store, where the node of a seat says that its work is done. PyTorch's agents
/// neither read nor write it: one of them is at work until it is dead or the rendezvous closed.
std::string key_of(const Seat& seat) {
  return "done/" + std::to_string(seat.round) + "/" + std::to_string(seat.rank);
}

bool are_all_done(const std::vector<Seat>& seats, Store& store) {
  HOOKE_CHECK(!seats.empty(), "the work of some others is asked for");
  std::vector<std::string> keys;
  for (const Seat& seat : seats) keys.push_back(key_of(seat));
  return store.check(keys);
}

/// Others that are alive and have not said that their work is done, as far as can be told: none
/// when the store does not answer, since no agent can be waited for over one that is dead. One
/// question for all of them, and one for each where they are to be `counted`.
std::int64_t others_at_work(RendezvousHandler& handler, bool counted) {
  try {
    std::vector<Seat> others = handler.others_alive();
    const std::shared_ptr<Store> store = others.empty() ? nullptr : handler.job_store();
    if (store == nullptr) return std::ssize(others);
    if (are_all_done(others, *store)) return 0;
    if (counted)
      std::erase_if(others, [&](const Seat& other) { return store->check({key_of(other)}); });
    return std::ssize(others);
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

void tell_work_done(RendezvousHandler& handler) {
  const std::optional<Seat> seat = handler.seat();
  if (!seat) return;
  if (const std::shared_ptr<Store> store = handler.job_store())
    store->set(key_of(*seat), Value(std::string("1")));
}

/// Two agents that wait for each other would do so until the limit if neither told.
void wait_for_others(sim::Ports& ports, RendezvousHandler& handler, sim::Duration limit) {
  HOOKE_CHECK(limit > sim::Duration::zero(), "the others are waited for for a while");
  const sim::MonotonicTime begin = ports.clock.monotonic_now();
  const auto waited = [&] { return ports.clock.monotonic_now() - begin; };
  try {
    tell_work_done(handler);
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception&) {
    return;  // nor can any agent be waited for
  }
  std::int64_t others = others_at_work(handler, true);
  if (others == 0) return;
  ports.trace.emit(events::shutdown_waiting, {handler.get_run_id(), others, limit});
  while (others > 0 && waited() < limit) {
    interruptible_sleep(ports, std::min<sim::Duration>(kLook, limit - waited()));
    others = others_at_work(handler, false);
  }
  if (others > 0) others = others_at_work(handler, true);
  HOOKE_CHECK(waited() >= sim::Duration::zero(), "a monotonic clock goes forward");
  HOOKE_CHECK(others >= 0, "no fewer than none are at work");
  ports.trace.emit(events::shutdown_waited, {handler.get_run_id(), others, waited()});
}

void refuse_while_others_work(RendezvousHandler& handler) {
  const std::int64_t others = others_at_work(handler, true);
  if (others == 0) return;
  throw RendezvousStateError(
      "the workflow is still in progress: " + std::to_string(others) +
      (others == 1 ? " other participant is at work" : " other participants are at work"));
}

bool RendezvousShutdown::operator()(const ShutdownOptions& options) {
  if (options.timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the timeout of a shutdown must be greater than zero, got " +
                                std::to_string(options.timeout.count()) + " ns");
  }
  if (options.graceful && options.strict) {
    throw std::invalid_argument("a shutdown is either graceful or strict, not both");
  }
  HOOKE_CHECK(result_.has_value() == (handler_ == nullptr), "a handler goes with its shutdown");
  if (result_) return *result_;
  if (options.strict) refuse_while_others_work(*handler_);
  if (options.graceful) wait_for_others(ports_, *handler_, options.timeout);
  result_ = options.instead ? options.instead(*handler_) : handler_->shutdown();
  handler_ = nullptr;
  return *result_;
}

}  // namespace hooke::model
