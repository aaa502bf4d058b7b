#pragma once
#include <algorithm>
#include <chrono>

#include "model/store/store.h"

namespace hooke::model {

/// What is there already need not be waited for: while this lives, the store's time-out is a second
/// at most.
class ShortTimeout {
 public:
  explicit ShortTimeout(Store& store) : store_(store), before_(store.timeout()) {
    store_.set_timeout(std::min<sim::Duration>(before_, std::chrono::seconds(1)));
  }
  ~ShortTimeout() { store_.set_timeout(before_); }
  ShortTimeout(const ShortTimeout&) = delete;
  ShortTimeout& operator=(const ShortTimeout&) = delete;

 private:
  Store& store_;
  sim::Duration before_;
};

}  // namespace hooke::model
