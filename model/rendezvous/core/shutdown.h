#pragma once
// The orderly end of a rendezvous: once, waiting for the others if that is wanted, and with
// everything given back. What PyTorch has is RendezvousHandler::shutdown, which closes at once
// (rendezvous/api.py).

#include <functional>
#include <memory>
#include <optional>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

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
  /// Others at work as far as can be told: 0 when the store does not answer.
  std::int64_t others_at_work();

  sim::Ports& ports_;
  std::unique_ptr<RendezvousHandler> handler_;
  std::optional<bool> result_;
};

}  // namespace hooke::model
