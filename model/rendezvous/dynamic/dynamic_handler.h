#pragma once
// The dynamic rendezvous as an agent sees it (dynamic_rendezvous.py:DynamicRendezvousHandler).

#include <memory>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/settings.h"
#include "model/rendezvous/dynamic/backend.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// What a handler is built over; `server` is kept alive as long as the handler when this process
/// hosts it.
struct RendezvousResources {
  std::unique_ptr<RendezvousBackend> backend;
  std::shared_ptr<Store> store;
  std::unique_ptr<TcpStoreServer> server;
  /// Over what job_store() lies where `store` does not compare and set; null: `store`.
  std::shared_ptr<Store> job_store = nullptr;
};

/// A handler for one node. Checks run id and limits (std::invalid_argument); no traffic yet.
/// `local_addr` empty: the host's fully qualified name.
std::unique_ptr<RendezvousHandler> make_dynamic_handler(sim::Ports& ports,
                                                        RendezvousResources resources,
                                                        RendezvousSettings settings,
                                                        const std::string& local_addr);

}  // namespace hooke::model
