#pragma once
// The problem: a rendezvous that cannot be reached for a moment ends an agent that joins just then
//

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/rendezvous/dynamic/backend.h"
#include "sim/port/clock.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Which outage is endured.
struct Endurance {
  /// For how long, from when it is felt, but at the latest from a second after the question that
  /// met it. Zero: the first failure is the last.
  sim::Duration limit{};
  /// Nor for longer than until then, except that a short outage is always endured; none: it is.
  std::optional<sim::MonotonicTime> deadline = std::nullopt;
  /// What is a short one.
  sim::Duration short_one{};
};

/// A backend that cannot be reached is asked again, once a second, for as long as the
/// node that asks has nothing better to do: while it joins.
class RetryingBackend final : public RendezvousBackend {
 public:
  RetryingBackend(sim::Ports& ports, std::unique_ptr<RendezvousBackend> backend)
      : ports_(ports), backend_(std::move(backend)) {}

  [[nodiscard]] std::string name() const override { return backend_->name(); }
  std::optional<StoredState> get_state() override;
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;
  void set_read_timeout(sim::Duration timeout) override { backend_->set_read_timeout(timeout); }

  Endurance endures;

 private:
  /// When an outage that was felt at `felt` is endured no longer.
  [[nodiscard]] sim::MonotonicTime end_of(sim::MonotonicTime felt) const;
  template <class Call>
  auto persistently(Call call) -> decltype(call());

  sim::Ports& ports_;
  std::unique_ptr<RendezvousBackend> backend_;
};

}  // namespace hooke::model
