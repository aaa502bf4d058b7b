#pragma once
// Mistakes of the exchange with a rendezvous' backend, for tests of the oracle.

#include <optional>
#include <utility>

#include "model/rendezvous/dynamic/state_holder.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: StateHolder or HardenedStateHolder.
template <class Base>
class PlantedStateHolder final : public Base {
 public:
  template <class... Arguments>
  explicit PlantedStateHolder(PlantedSet planted, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), planted_(planted) {}

 protected:
  std::optional<SetStateResult> offer(const sim::Value& bytes) override {
    std::optional<SetStateResult> result = Base::offer(bytes);
    if (!result || result->has_set) return result;
    if (planted_.has(Planted::rendezvous_refused_write_forced))
      result = this->backend_.set_state(bytes, result->token);
    if (result && planted_.has(Planted::rendezvous_lost_write_believed)) {
      result->bytes = bytes;
      result->has_set = true;
      result->in_doubt = false;
    }
    return result;
  }

 private:
  PlantedSet planted_;
};

}  // namespace hooke::model
