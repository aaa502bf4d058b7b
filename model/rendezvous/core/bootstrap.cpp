// Publication of MASTER_ADDR and MASTER_PORT, and the server behind them.
#include "model/rendezvous/core/bootstrap.h"

#include <charconv>
#include <stdexcept>

#include "model/observe/python_error.h"
#include "model/store/free_port.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/store/stepping_store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// PyTorch's library default for a TCPStore.
constexpr sim::Duration kStoreTimeout = std::chrono::seconds(300);

}  // namespace

RendezvousStoreInfo tell_store_info(sim::Ports& ports, Store& store, const std::string& local_addr,
                                    std::uint16_t server_port) {
  RendezvousStoreInfo info;
  info.master_addr = local_addr.empty() ? ports.network.fully_qualified_name() : local_addr;
  info.master_port = server_port != 0 ? server_port : probe_free_port(ports.network).value;
  HOOKE_CHECK(info.master_port != 0, "workers are told of a port that can be reached");
  HOOKE_CHECK(!info.master_addr.empty(), "workers are told of a machine that can be reached");
  store.set("MASTER_ADDR", Value(info.master_addr));
  store.set("MASTER_PORT", Value(std::to_string(info.master_port)));
  return info;
}

RendezvousStoreInfo build_store_info(sim::Ports& ports, std::int64_t rank, Store& store,
                                     const std::string& local_addr, std::uint16_t server_port) {
  if (rank == 0) static_cast<void>(tell_store_info(ports, store, local_addr, server_port));
  return read_store_info(store);
}

RendezvousStoreInfo read_store_info(Store& store) {
  RendezvousStoreInfo info;
  info.master_addr = store.get("MASTER_ADDR").bytes();
  const Value port_text = store.get("MASTER_PORT");
  const std::string& digits = port_text.bytes();
  const auto parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), info.master_port);
  if (parsed.ec != std::errc()) {
    throw EscapedPythonError("ValueError", "MASTER_PORT is \"" + digits + "\", not a port number");
  }
  return info;
}

bool Bootstrap::shares_store() const {
  if (!may_share_) return false;
  const auto& environment = ports_.processes.environment();
  const auto found = environment.find("TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  return found == environment.end() || found->second != "1";
}

RendezvousStoreInfo Bootstrap::exchange(std::int64_t rank, Store& round_store,
                                        std::uint16_t server_port) {
  const std::shared_ptr<Store> lent(std::shared_ptr<Store>(), &round_store);
  return build_store_info(ports_, rank, *make_stepping_store(ports_, lent), local_addr_,
                          server_port);
}

std::uint16_t Bootstrap::serve() {
  HOOKE_CHECK(may_share_, "a release without the shared store serves none");
  server_ = serve_tcp_store(ports_, sim::PortNumber{0}, "workers", planted_);
  TcpStoreOptions options;
  options.endpoint = {local_addr_, server_->port()};
  options.timeout = kStoreTimeout;
  own_client_ = connect_tcp_store(ports_, options, planted_);
  HOOKE_CHECK(server_->port().value != 0, "a server listens at a port");
  HOOKE_CHECK(own_client_ != nullptr, "a server is its own first client");
  return served_port();
}

RendezvousStoreInfo Bootstrap::for_round(std::int64_t rank, Store& round_store) {
  if (!shares_store()) {
    cached_ = exchange(rank, round_store, 0);
    return *cached_;
  }
  const bool first_as_rank_zero = rank == 0 && serves_none() && !later_rank_zero_fails_;
  if (!cached_ || first_as_rank_zero)
    cached_ = exchange(rank, round_store, rank == 0 ? serve() : std::uint16_t{0});
  if (rank == 0 && server_ == nullptr) {
    throw EscapedPythonError("AssertionError",
                             "rank 0 of this round has no bootstrap store server");
  }
  HOOKE_CHECK(cached_.has_value(), "workers are told where they meet");
  return *cached_;
}

}  // namespace hooke::model
