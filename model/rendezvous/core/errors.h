#pragma once
// Rendezvous errors under PyTorch's names (torch/distributed/elastic/rendezvous/api.py). The class
// is the contract; texts are for people.

#include <stdexcept>
#include <string>

namespace hooke::model {

class RendezvousError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// PyTorch's class name, for traces and failure texts.
  [[nodiscard]] virtual const char* class_name() const { return "RendezvousError"; }
};

#define HOOKE_RENDEZVOUS_ERROR(name)                                        \
  class name : public RendezvousError {                                     \
   public:                                                                  \
    using RendezvousError::RendezvousError;                                 \
    [[nodiscard]] const char* class_name() const override { return #name; } \
  }

/// A join found the rendezvous closed.
HOOKE_RENDEZVOUS_ERROR(RendezvousClosedError);
/// An operation passed its deadline.
HOOKE_RENDEZVOUS_ERROR(RendezvousTimeoutError);
/// The backend could not be reached, or a store call failed.
HOOKE_RENDEZVOUS_ERROR(RendezvousConnectionError);
/// The stored state cannot be decoded.
HOOKE_RENDEZVOUS_ERROR(RendezvousStateError);
/// A spare found the rendezvous closed: leave without failure (2.x).
HOOKE_RENDEZVOUS_ERROR(RendezvousGracefulExitError);
/// Of GroupKeeping: the group that this node has joined lost a member before it was at work.
HOOKE_RENDEZVOUS_ERROR(RendezvousGroupLostError);
/// Of GroupKeeping: no restart is left for such a loss, nor has another round begun: the job has
/// failed for all of its nodes.
HOOKE_RENDEZVOUS_ERROR(RendezvousJobLostError);

#undef HOOKE_RENDEZVOUS_ERROR

}  // namespace hooke::model
