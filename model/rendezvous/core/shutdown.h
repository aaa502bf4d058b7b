#pragma once
// The orderly end of a rendezvous: once, waiting for the others if that is wanted, and with
// everything given back. What PyTorch has is RendezvousHandler::shutdown, which closes at once
// (rendezvous/api.py).

#include <functional>
#include <memory>
#include <optional>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Tells the other participants of this node's round that its work is done: a graceful or strict
/// shutdown of theirs counts it no more, whether or not it is alive. Nothing where there is no seat
/// or no store for it. StoreError, and what else the store of the job raises.
void tell_work_done(RendezvousHandler& handler);

/// Tells so, and waits until no other participant is at work, as far as can be told, for `limit` at
/// most. SignalException.
void wait_for_others(sim::Ports& ports, RendezvousHandler& handler, sim::Duration limit);
/// RendezvousStateError while others are at work.
void refuse_while_others_work(RendezvousHandler& handler);

/// What a manner of shutting down may look at.
struct ShutdownRequest {
  sim::Ports& ports;
  RendezvousHandler& handler;
  /// All agents of the round have come to its exit barrier: there is no other to look for.
  bool others_are_done = false;
};

/// How an agent closes its rendezvous. A project may bring its own.
class ShutdownManner {
 public:
  virtual ~ShutdownManner() = default;
  /// Closes it: true on success. SignalException; RendezvousStateError when it refuses to.
  virtual bool shut_down(const ShutdownRequest& request) const = 0;
  /// Whether it asks what the others do, so that these have to tell when their work is done.
  [[nodiscard]] virtual bool looks_at_others() const { return true; }
  /// How long it waits for them at most: what bounds the end of an agent counts that in.
  [[nodiscard]] virtual sim::Duration limit() const { return {}; }
};

struct ShutdownOptions {
  /// Wait until the other participants of the round are done before closing for all.
  bool graceful = false;
  /// How long to wait for them; above 0.
  sim::Duration timeout = std::chrono::seconds(30);
  /// Without `graceful`: refuse while other participants are still at work.
  bool strict = false;
  /// A user's own way to shut the rendezvous down, in place of closing it.
  std::function<bool(RendezvousHandler&)> instead = nullptr;
};

class RendezvousShutdown {
 public:
  /// Takes the handler over: when the shutdown has taken effect it is gone, and with it its stores,
  /// servers and background work.
  RendezvousShutdown(sim::Ports& ports, std::unique_ptr<RendezvousHandler> handler)
      : ports_(ports), handler_(std::move(handler)) {}

  /// The handler until then, null afterwards.
  [[nodiscard]] RendezvousHandler* handler() { return handler_.get(); }

  /// True when the rendezvous is closed, or `instead` says so; false when it could not be closed,
  /// as with a store that is dead. It takes effect once: a second call returns the first result.
  /// std::invalid_argument for a timeout of 0 or below, or for graceful and strict together;
  /// RendezvousStateError, and nothing is done, when strictness finds others at work.
  bool operator()(const ShutdownOptions& options = {});

 private:
  sim::Ports& ports_;
  std::unique_ptr<RendezvousHandler> handler_;
  std::optional<bool> result_;
};

}  // namespace hooke::model
