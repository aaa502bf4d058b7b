// Publication of MASTER_ADDR and MASTER_PORT, and the server behind them.
#include "model/rendezvous/core/bootstrap.h"

#include <charconv>
#include <stdexcept>

#include "model/observe/python_error.h"
#include "model/store/free_port.h"

namespace hooke::model {
namespace {

/// PyTorch's library default for a TCPStore.
constexpr sim::Duration kStoreTimeout = std::chrono::seconds(300);

RendezvousStoreInfo tell_store_info(sim::Ports& ports, Store& store, const std::string& local_addr,
                                    std::uint16_t server_port) {
  RendezvousStoreInfo info;
  info.master_addr = local_addr.empty() ? ports.network.fully_qualified_name() : local_addr;
  info.master_port = server_port != 0 ? server_port : probe_free_port(ports.network).value;
  store.set("MASTER_ADDR", Value(info.master_addr));
  store.set("MASTER_PORT", Value(std::to_string(info.master_port)));
  return info;
}

}  // namespace

RendezvousStoreInfo build_store_info(sim::Ports& ports, std::int64_t rank, Store& store,
                                     const std::string& local_addr, std::uint16_t server_port) {
  if (rank == 0) static_cast<void>(tell_store_info(ports, store, local_addr, server_port));
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
  const auto& environment = ports_.processes.environment();
  const auto found = environment.find("TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  return found == environment.end() || found->second != "1";
}

/// Hardened, rank 0 does not ask for what it has told: a store that comes up empty in between has
/// no answer.
RendezvousStoreInfo Bootstrap::exchange(std::int64_t rank, Store& round_store,
                                        std::uint16_t server_port) {
  if (rank == 0 && variant_ == Variant::hardened)
    return tell_store_info(ports_, round_store, local_addr_, server_port);
  return build_store_info(ports_, rank, round_store, local_addr_, server_port);
}

/// An empty store, at the port of the last one if that is to be had.
std::unique_ptr<TcpStoreServer> Bootstrap::serve_anew() {
  const sim::PortNumber before = server_ == nullptr ? sim::PortNumber{0} : server_->port();
  server_ = nullptr;
  try {
    return serve_tcp_store(ports_, before, "workers", planted_);
  } catch (const StoreError&) {
    if (before == sim::PortNumber{0}) throw;
  }
  return serve_tcp_store(ports_, sim::PortNumber{0}, "workers", planted_);
}

std::uint16_t Bootstrap::served_port() const {
  const bool served = server_ != nullptr && !planted_.has(Planted::bootstrap_port_not_served);
  return served ? server_->port().value : std::uint16_t{0};
}

RendezvousStoreInfo Bootstrap::for_round(std::int64_t rank, Store& round_store,
                                         const std::optional<NodeDesc>& first) {
  if (rank == 1 && planted_.has(Planted::bootstrap_second_member_tells)) rank = 0;
  if (cached_ && planted_.has(Planted::bootstrap_built_once)) return *cached_;
  told_in_round_ = true;
  if (!shares_store()) {
    cached_ = exchange(rank, round_store, 0);
    return *cached_;
  }
  if (variant_ == Variant::hardened) {
    const bool told_once = first && first->local_id < NodeDesc::kHandlersMax;
    told_in_round_ = rank == 0 || !cached_ || !told_once || told_by_ != first;
    if (!told_in_round_) return *cached_;
    server_ = rank == 0 ? serve_anew() : nullptr;
    cached_ = exchange(rank, round_store, served_port());
    told_by_ = first;
    return *cached_;
  }
  const bool serves_none = server_ == nullptr || planted_.has(Planted::bootstrap_store_each_round);
  const bool first_as_rank_zero = rank == 0 && serves_none && !later_rank_zero_fails_;
  if (!cached_ || first_as_rank_zero) {
    std::uint16_t port = 0;
    if (rank == 0) {
      server_ = serve_tcp_store(ports_, sim::PortNumber{0}, "workers", planted_);
      TcpStoreOptions options;
      options.endpoint = {local_addr_, server_->port()};
      options.timeout = kStoreTimeout;
      options.planted = planted_;
      own_client_ = connect_tcp_store(ports_, options);
      port = served_port();
    }
    cached_ = build_store_info(ports_, rank, round_store, local_addr_, port);
  }
  if (rank == 0 && server_ == nullptr) {
    throw EscapedPythonError("AssertionError",
                             "rank 0 of this round has no bootstrap store server");
  }
  return *cached_;
}

}  // namespace hooke::model
