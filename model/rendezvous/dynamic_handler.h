#pragma once
// The dynamic rendezvous as an agent sees it (dynamic_rendezvous.py:DynamicRendezvousHandler).

#include <memory>

#include "model/rendezvous/backend.h"
#include "model/rendezvous/handler.h"
#include "model/rendezvous/settings.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// What is put before the keys of one round, whatever the backend: the store of that round.
std::string round_prefix(const std::string& run_id, std::int64_t round);

/// What is put before the keys that agents of this project share beside the rendezvous state.
std::string job_prefix(const std::string& run_id);

/// What a handler is built over; `server` is kept alive as long as the handler when this process
/// hosts it.
struct RendezvousResources {
  std::unique_ptr<RendezvousBackend> backend;
  std::shared_ptr<Store> store;
  std::unique_ptr<TcpStoreServer> server;
  /// Over what job_store() lies where `store` does not compare and set; null: `store`.
  std::shared_ptr<Store> job_store = nullptr;
};

/// Waits until nobody has asked `server` for anything for `alive`, or a caught signal comes.
void serve_on(sim::Ports& ports, const TcpStoreServer& server, sim::Duration alive);

/// Settings from parameters: join_timeout, last_call_timeout, close_timeout (and, for 2.x,
/// heartbeat_timeout, keep_alive_interval, keep_alive_max_attempt). std::invalid_argument naming
/// the key.
RendezvousSettings dynamic_settings(const RendezvousParameters& parameters);

/// A handler for one node. Checks run id and limits (std::invalid_argument); no traffic yet.
/// `local_addr` empty: the host's fully qualified name.
std::unique_ptr<RendezvousHandler> make_dynamic_handler(sim::Ports& ports,
                                                        RendezvousResources resources,
                                                        RendezvousSettings settings,
                                                        const std::string& local_addr);

/// The "static" backend: rank and size are given, rank 0 hosts the store
/// (static_tcp_rendezvous.py).
std::unique_ptr<RendezvousHandler> make_static_handler(sim::Ports& ports,
                                                       const RendezvousParameters& parameters);

}  // namespace hooke::model
