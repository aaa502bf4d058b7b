#include "model/hardened/dynamic/hardened_bootstrap.h"

#include "model/store/kinds/tcp_stores.h"
#include "sim/port/check.h"

namespace hooke::model {

/// Rank 0 does not ask for what it has told: a store that comes up empty in between has no answer.
RendezvousStoreInfo HardenedBootstrap::exchange(std::int64_t rank, Store& round_store,
                                                std::uint16_t server_port) {
  return rank == 0 ? tell_store_info(ports_, round_store, local_addr_, server_port)
                   : Bootstrap::exchange(rank, round_store, server_port);
}

/// An empty store, at the port of the last one if that is to be had.
std::unique_ptr<TcpStoreServer> HardenedBootstrap::serve_anew() {
  const sim::PortNumber before = server_ == nullptr ? sim::PortNumber{0} : server_->port();
  server_ = nullptr;
  try {
    return serve_tcp_store(ports_, before, "workers", planted_);
  } catch (const StoreError&) {
    if (before == sim::PortNumber{0}) throw;
  }
  return serve_tcp_store(ports_, sim::PortNumber{0}, "workers", planted_);
}

RendezvousStoreInfo HardenedBootstrap::for_round(std::int64_t rank, Store& round_store) {
  told_in_round_ = true;
  if (!shares_store()) {
    cached_ = exchange(rank, round_store, 0);
    return *cached_;
  }
  const bool told_once = first_ && first_->local_id < NodeDesc::kHandlersMax;
  told_in_round_ = rank == 0 || !cached_ || !told_once || told_by_ != first_;
  if (!told_in_round_) return *cached_;
  server_ = rank == 0 ? serve_anew() : nullptr;
  HOOKE_CHECK((rank == 0) == (server_ != nullptr),
              "rank 0, and no other, has a server for the workers");
  HOOKE_CHECK(server_ == nullptr || server_->port().value != 0, "the port of the server is not 0");
  cached_ = exchange(rank, round_store, served_port());
  told_by_ = first_;
  return *cached_;
}

}  // namespace hooke::model
