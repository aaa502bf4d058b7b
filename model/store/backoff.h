#pragma once
// Waits between attempts to connect. PyTorch 2.x: exponential with jitter (c10d/Backoff.hpp),
// shared by the inner and the outer loop and never reset; 1.13: a fixed second.

#include <algorithm>

#include "model/variant/variant.h"
#include "sim/port/check.h"
#include "sim/port/random.h"
#include "sim/port/time.h"

namespace hooke::model {

class Backoff {
 public:
  /// PyTorch's longest wait has its centre here.
  static constexpr sim::Duration kLongest = std::chrono::seconds(60);

  Backoff(sim::Random& random, Variant variant, sim::Duration longest = kLongest)
      : random_(random), variant_(variant), longest_(longest) {}

  /// The next wait: around 0.5 s × 1.5^k, ±50 %, its centre at most `longest`; 1 s before 2.5.
  sim::Duration next() {
    using namespace std::chrono_literals;
    if (!backs_off_from_the_store(variant_)) return 1s;
    const sim::Duration centre = centre_;
    centre_ = std::min(centre_ * 3 / 2, longest_);
    HOOKE_CHECK(centre <= longest_, "a wait is no longer than the longest");
    HOOKE_CHECK(centre > sim::Duration::zero(), "an attempt is followed by a wait");
    return random_.between("store.backoff", centre / 2, centre * 3 / 2);
  }

 private:
  sim::Random& random_;
  Variant variant_;
  sim::Duration longest_;
  sim::Duration centre_ = std::chrono::milliseconds(500);
};

}  // namespace hooke::model
