#pragma once
// Why stored bytes are no state, and what Python makes of the same bytes.

#include <string>

#include "model/rendezvous/core/errors.h"

namespace hooke::model {

/// PyTorch turns a pickle.PickleError into RendezvousStateError, and lets everything else escape
/// that reading and looking at a state may raise
/// (dynamic_rendezvous.py:_BackendRendezvousStateHolder.sync).
class UndecodableState : public RendezvousStateError {
 public:
  /// `escapes_as`: "EOFError" and so on, a constant; null for a PickleError, and for what Python
  /// reads and this reader refuses.
  UndecodableState(const std::string& what, const char* escapes_as)
      : RendezvousStateError(what), escapes_as_(escapes_as) {}
  [[nodiscard]] const char* escapes_as() const { return escapes_as_; }

 private:
  const char* escapes_as_;
};

}  // namespace hooke::model
