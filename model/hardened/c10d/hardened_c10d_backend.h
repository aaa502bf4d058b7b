#pragma once
// The problem: in a store that has come up empty PyTorch's agents wait for a state that no agent is
// going to write, and a write over a key that has disappeared is answered as if it were done
// (S-4).

#include "model/rendezvous/backends/c10d_backend.h"

namespace hooke::model {

/// Puts the sentinel under the key again whenever it has disappeared.
class HardenedC10dBackend : public C10dBackend {
 public:
  using C10dBackend::C10dBackend;

 protected:
  sim::Value stored() override { return put_sentinel(); }
  sim::Value write(const sim::Value& expected, const sim::Value& offered) override {
    sim::Value present = C10dBackend::write(expected, offered);
    // An agent that loses a race is told another value; its own expectation means that there is
    // none.
    if (present != expected || present == offered) return present;
    put_sentinel();
    return C10dBackend::write(sentinel(), offered);
  }
};

}  // namespace hooke::model
