#pragma once
// The problem: an agent that joins the store at an endpoint takes a name in other letters for
// another machine's, needs a resolver to find a store of its own, is deaf to signals until
// it is connected, and ends a store that others have come to already.

#include <string>

#include "model/rendezvous/backends/c10d_backend.h"

namespace hooke::model {

/// A reply is waited for no longer than the others take to give a silent node up.
class HardenedC10dStoreCreation : public C10dStoreCreation {
 public:
  using C10dStoreCreation::C10dStoreCreation;

 protected:
  [[nodiscard]] sim::Endpoint endpoint() const override;
  [[nodiscard]] bool is_own(const std::string& host) const override;
  void adapt(TcpStoreOptions& options, bool serves) const override;
  /// Others may have come to this node's store already, which only it itself has not reached.
  void on_failure(C10dStore& made) const override { static_cast<void>(made); }
};

}  // namespace hooke::model
