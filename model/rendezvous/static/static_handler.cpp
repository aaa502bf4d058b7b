// The static rendezvous: no rounds, no membership, no keep-alive, nothing to close.
#include "model/rendezvous/static/static_handler.h"

#include <charconv>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/core/linger.h"
#include "model/signals/signal_gate.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/store/retrying_store.h"

namespace hooke::model {
namespace {

/// For how long a hardened agent goes on asking a store that cannot be reached.
constexpr sim::Duration kOutage = std::chrono::seconds(60);

class StaticHandler final : public RendezvousHandler {
 public:
  StaticHandler(sim::Ports& ports, const RendezvousParameters& parameters, sim::Endpoint endpoint,
                std::int64_t rank, sim::Duration timeout)
      : ports_(ports),
        run_id_(parameters.run_id),
        endpoint_(std::move(endpoint)),
        rank_(rank),
        world_size_(parameters.max_nodes),
        timeout_(timeout),
        variant_(parameters.variant),
        planted_(parameters.planted) {}

  [[nodiscard]] std::string get_backend() const override { return "static"; }
  [[nodiscard]] std::string get_run_id() const override { return run_id_; }
  [[nodiscard]] bool use_agent_store() const override { return true; }
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override { return false; }
  void set_closed() override {}
  std::int64_t num_nodes_waiting() override { return 0; }
  std::shared_ptr<Store> job_store() override {
    return store_ == nullptr ? nullptr : make_prefix_store(job_prefix(run_id_), store_);
  }
  GroupState group_state() override { return GroupState::closed; }
  void linger() override;
  bool shutdown() override { return true; }

 private:
  /// Rank 0 returns only when every node has counted itself in.
  void wait_for_all();

  sim::Ports& ports_;
  std::string run_id_;
  sim::Endpoint endpoint_;
  std::int64_t rank_;
  std::int64_t world_size_;
  sim::Duration timeout_;
  Variant variant_;
  PlantedSet planted_;
  std::unique_ptr<TcpStoreServer> server_;
  std::shared_ptr<Store> store_;
};

RendezvousInfo StaticHandler::next_rendezvous() {
  if (store_ == nullptr) {
    if (rank_ == 0) server_ = serve_tcp_store(ports_, endpoint_.port, "rendezvous", planted_);
    TcpStoreOptions options;
    options.endpoint = endpoint_;
    options.timeout = timeout_;
    options.count_in = true;
    options.variant = variant_;
    if (variant_ == Variant::hardened) {
      options.interruptible = true;
      options.pause = [this](sim::MonotonicTime until) {
        interruptible_sleep_until(ports_, until);
      };
    }
    store_ = connect_tcp_store(ports_, options, planted_);
    if (rank_ == 0) wait_for_all();
  }
  RendezvousInfo info;
  info.store = make_prefix_store(run_id_, store_);
  if (variant_ == Variant::hardened) {  // no agent that waits there is deaf
    info.store = make_retrying_store(ports_, std::move(info.store), kOutage,
                                     [this] { check_signals(ports_); });
  }
  info.round = -1;
  info.rank = rank_;
  info.world_size = world_size_;
  info.bootstrap = RendezvousStoreInfo{endpoint_.host, endpoint_.port.value};
  return info;
}

void StaticHandler::linger() {
  if (variant_ != Variant::hardened || server_ == nullptr) return;
  store_ = nullptr;  // this node's own connection
  serve_on(ports_, *server_, kOutage);
}

void StaticHandler::wait_for_all() {
  const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout_;
  sim::MonotonicTime heard = ports_.clock.monotonic_now();
  std::int64_t joined = 0;
  for (;;) {
    try {
      joined = store_clients_counted_in(*store_);
      heard = ports_.clock.monotonic_now();
    } catch (const StoreNetworkError&) {
      // The others are counted already and wait for what this agent has to say.
      const bool gone = ports_.clock.monotonic_now() >= heard + kOutage;
      if (variant_ != Variant::hardened || gone) throw;
    }
    if (joined >= world_size_) return;
    if (ports_.clock.monotonic_now() >= deadline) {
      throw StoreTimeoutError("Timed out waiting for clients. " + std::to_string(joined) + "/" +
                              std::to_string(world_size_) + " clients joined.");
    }
    if (variant_ == Variant::hardened) check_signals(ports_);
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + std::chrono::milliseconds(10));
  }
}

}  // namespace

std::unique_ptr<RendezvousHandler> make_static_handler(sim::Ports& ports,
                                                       const RendezvousParameters& parameters) {
  const auto rank = parameters.get("rank");
  if (!rank)
    throw std::invalid_argument("the static rendezvous needs \"rank\" in its configuration");
  std::int64_t number = -1;
  std::from_chars(rank->data(), rank->data() + rank->size(), number);
  if (parameters.endpoint.find_first_not_of(" \t") == std::string::npos) {
    throw std::invalid_argument("the static rendezvous needs an endpoint");
  }
  const sim::Endpoint endpoint = parse_endpoint(parameters.endpoint, 0, parameters.variant);
  if (endpoint.port.value == 0) {
    throw std::invalid_argument("the static rendezvous needs a port in its endpoint \"" +
                                parameters.endpoint + "\"");
  }
  const sim::Duration timeout =
      parameters.get_as_seconds("timeout").value_or(std::chrono::seconds(600));
  return std::make_unique<StaticHandler>(ports, parameters, endpoint, number, timeout);
}

}  // namespace hooke::model
