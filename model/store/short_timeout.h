#pragma once
#include <algorithm>

#include "model/store/store.h"
#include "sim/port/check.h"

namespace hooke::model {

/// What is there already need not be waited for: while this lives, the store's time-out is at most
/// the one given, which leaves time for a reply on a slow way.
class ShortTimeout {
 public:
  ShortTimeout(Store& store, sim::Duration most) : store_(store), before_(store.timeout()) {
    HOOKE_CHECK(most >= sim::Duration::zero(), "a time-out lies ahead");
    store_.set_timeout(std::min(before_, most));
  }
  ~ShortTimeout() { store_.set_timeout(before_); }
  ShortTimeout(const ShortTimeout&) = delete;
  ShortTimeout& operator=(const ShortTimeout&) = delete;

 private:
  Store& store_;
  sim::Duration before_;
};

}  // namespace hooke::model
