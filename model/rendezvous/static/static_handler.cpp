// One store for the whole job, and a wait for all of its nodes.
#include "model/rendezvous/static/static_handler.h"

#include <charconv>
#include <stdexcept>

#include "model/rendezvous/core/key_prefix.h"
#include "model/store/kinds/tcp_stores.h"
#include "sim/port/check.h"

namespace hooke::model {

TcpStoreOptions StaticHandler::store_options() const {
  TcpStoreOptions options;
  options.endpoint = settings_.endpoint;
  if (server_ != nullptr) options.endpoint.port = server_->port();  // of port 0: any that was free
  options.timeout = settings_.timeout;
  options.count_in = true;
  options.variant = settings_.variant;
  return options;
}

RendezvousInfo StaticHandler::next_rendezvous() {
  HOOKE_CHECK(server_ == nullptr || settings_.rank == 0, "rank 0 alone serves the store");
  if (store_ == nullptr) {
    if (settings_.rank == 0)
      server_ = serve_tcp_store(ports_, settings_.endpoint.port, "rendezvous", settings_.planted);
    store_ = connect_tcp_store(ports_, store_options(), settings_.planted);
    if (settings_.rank == 0) wait_for_all();
  }
  RendezvousInfo info;
  info.store = round_store();
  info.round = -1;
  info.rank = settings_.rank;
  info.world_size = settings_.world_size;
  info.bootstrap = RendezvousStoreInfo{settings_.endpoint.host, settings_.endpoint.port.value};
  return info;
}

std::shared_ptr<Store> StaticHandler::round_store() {
  HOOKE_CHECK(store_ != nullptr, "the workers meet in a store that is connected to");
  return make_prefix_store(settings_.run_id, store_);
}

std::shared_ptr<Store> StaticHandler::job_store() {
  return store_ == nullptr ? nullptr : make_prefix_store(job_prefix(settings_.run_id), store_);
}

std::int64_t StaticHandler::joined(std::int64_t /*before*/) {
  HOOKE_CHECK(store_ != nullptr, "clients are counted by a store");
  return store_clients_counted_in(*store_);
}

void StaticHandler::wait_for_all() {
  HOOKE_CHECK(settings_.rank == 0 && server_ != nullptr, "rank 0 counts the clients of its store");
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  for (std::int64_t seen = 0;;) {
    seen = joined(seen);
    if (seen >= settings_.world_size) return;
    const sim::Duration waited = ports_.clock.monotonic_now() - begin;
    if (waited >= settings_.timeout) {
      throw StoreTimeoutError("Timed out waiting for clients. " + std::to_string(seen) + "/" +
                              std::to_string(settings_.world_size) + " clients joined.");
    }
    pause(waited);
  }
}

void StaticHandler::pause(sim::Duration /*waited*/) {
  ports_.executor.sleep_until(ports_.clock.monotonic_now() + std::chrono::milliseconds(10));
}

StaticSettings static_settings(const RendezvousParameters& parameters,
                               sim::Endpoint (*parse)(const std::string&, std::uint16_t)) {
  const auto rank = parameters.get("rank");
  if (!rank)
    throw std::invalid_argument("the static rendezvous needs \"rank\" in its configuration");
  std::int64_t number = -1;
  std::from_chars(rank->data(), rank->data() + rank->size(), number);
  if (parameters.endpoint.find_first_not_of(" \t") == std::string::npos) {
    throw std::invalid_argument("the static rendezvous needs an endpoint");
  }
  // Without a port of its own it has whichever it is given; 0 is one, and means any that is free.
  const sim::Endpoint endpoint = parse(parameters.endpoint, 1);
  if (endpoint.port.value == 1 && parse(parameters.endpoint, 2).port.value == 2) {
    throw std::invalid_argument("the static rendezvous needs a port in its endpoint \"" +
                                parameters.endpoint + "\"");
  }
  StaticSettings settings;
  settings.run_id = parameters.run_id;
  settings.endpoint = endpoint;
  settings.rank = number;
  settings.world_size = parameters.max_nodes;
  settings.timeout = parameters.get_as_seconds("timeout").value_or(settings.timeout);
  settings.variant = parameters.variant;
  settings.planted = parameters.planted;
  return settings;
}

}  // namespace hooke::model
