#pragma once
// What a dynamic rendezvous is built over.

#include <memory>

#include "model/rendezvous/dynamic/backend.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// `server` is kept alive as long as the handler when this process hosts it, unless it is handed on.
struct RendezvousResources {
  std::unique_ptr<RendezvousBackend> backend;
  std::shared_ptr<Store> store;
  std::shared_ptr<TcpStoreServer> server;
  /// Over what job_store() lies where `store` does not compare and set; null: `store`.
  std::shared_ptr<Store> job_store = nullptr;
};

}  // namespace hooke::model
