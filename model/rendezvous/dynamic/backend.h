#pragma once
// Where the shared state is kept: one value with a fencing token
// (dynamic_rendezvous.py:RendezvousBackend).

#include <optional>
#include <string>

#include "sim/port/buffer.h"
#include "sim/port/time.h"

namespace hooke::model {

/// Proof of which stored version a write replaces. c10d uses the stored text itself, etcd a
/// revision.
using Token = sim::Value;

struct StoredState {
  sim::Value bytes;
  Token token;
};
struct SetStateResult {
  sim::Value bytes;
  Token token;
  bool has_set = false;  ///< the offered bytes are what is stored now
  /// They are not, but an attempt of the same call had no answer: they may have been, or may come
  /// to be.
  bool in_doubt = false;
};

class RendezvousBackend {
 public:
  virtual ~RendezvousBackend() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// nullopt when nothing is stored. RendezvousConnectionError, RendezvousStateError.
  virtual std::optional<StoredState> get_state() = 0;
  /// Replaces the version named by `token`; an absent or empty token means "only if nothing is
  /// stored". nullopt: no state could be produced. Same errors as get_state.
  virtual std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                                  const std::optional<Token>& token) = 0;
  /// From now on no answer is waited for longer than this, where the variant has a say in it.
  virtual void set_read_timeout(sim::Duration) {}
};

}  // namespace hooke::model
