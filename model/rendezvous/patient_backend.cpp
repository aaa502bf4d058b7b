#include "model/rendezvous/patient_backend.h"

#include <algorithm>

#include "model/rendezvous/errors.h"
#include "model/rendezvous/op_executor.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {

template <class Call>
auto PatientBackend::persistently(Call call) -> decltype(call()) {
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + outage_limit;
  for (;;) {
    try {
      return call();
    } catch (const RendezvousConnectionError&) {
      if (ports_.clock.monotonic_now() >= give_up) throw;
    }
    const sim::Duration left = give_up - ports_.clock.monotonic_now();
    interruptible_sleep(ports_, std::min<sim::Duration>(left, kPollInterval));
  }
}

std::optional<StoredState> PatientBackend::get_state() {
  return persistently([&] { return backend_->get_state(); });
}

std::optional<SetStateResult> PatientBackend::set_state(const sim::Value& bytes,
                                                        const std::optional<Token>& token) {
  std::uint64_t attempts = 0;
  auto result = persistently([&] {
    ++attempts;
    return backend_->set_state(bytes, token);
  });
  // What had no answer may have been carried out.
  if (result && !result->has_set && attempts > 1) result->in_doubt = true;
  return result;
}

}  // namespace hooke::model
