#pragma once
// Mistakes of the legacy rendezvous over etcd, for tests of the oracle.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/hardened/legacy_etcd/hardened_rendezvous.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: LegacyEtcdRendezvous or HardenedLegacyEtcdRendezvous.
template <class Base>
class PlantedLegacyEtcdRendezvous final : public Base {
 public:
  template <class... Arguments>
  explicit PlantedLegacyEtcdRendezvous(PlantedSet planted, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), planted_(planted) {}

 protected:
  [[nodiscard]] sim::Duration retry_pause() const override {
    return has(Planted::legacy_retries_without_pause) ? sim::Duration::zero() : Base::retry_pause();
  }
  [[nodiscard]] std::int64_t last_caller() const override {
    const bool too_soon = has(Planted::legacy_last_call_too_soon);
    return std::max<std::int64_t>(Base::last_caller() - (too_soon ? 1 : 0), 0);
  }
  [[nodiscard]] sim::Duration last_call_span() const override {
    const bool skipped = has(Planted::legacy_last_call_skipped);
    return skipped ? sim::Duration::zero() : Base::last_call_span();
  }
  [[nodiscard]] bool all_have_confirmed(const LegacyState& state) const override {
    const bool one_short = has(Planted::legacy_final_one_short) &&
                           state.keep_alives->size() + 1 == state.participants->size();
    return one_short || Base::all_have_confirmed(state);
  }
  std::unique_ptr<LegacyEtcdRenewal> start_renewal(const std::string& keep_alive) override {
    if (has(Planted::legacy_keep_alive_not_started)) return nullptr;
    return Base::start_renewal(keep_alive);
  }
  [[nodiscard]] sim::Duration renewal_interval() const override {
    return has(Planted::legacy_renewed_too_late) ? kLegacyKeepAlive * 2 : Base::renewal_interval();
  }
  std::optional<sim::Duration> stay_of(const LegacyEtcdRun::Active& seen,
                                       const std::vector<std::string>& missing) override {
    const bool some_live = missing.size() < seen.state->keep_alives->size();
    if (some_live && has(Planted::legacy_freed_by_all)) return this->settings_.timeout;
    return Base::stay_of(seen, missing);
  }
  std::int64_t waiting_in(const LegacyState& state) override {
    const bool is_final = state.status == LegacyState::Status::final_;
    return is_final && has(Planted::legacy_newcomers_not_seen) ? 0 : Base::waiting_in(state);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return planted_.has(mistake); }

  PlantedSet planted_;
};

}  // namespace hooke::model
