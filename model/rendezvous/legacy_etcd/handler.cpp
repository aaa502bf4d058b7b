// What is asked of the configuration first, then the handler.
#include "model/rendezvous/legacy_etcd/handler.h"

#include <stdexcept>
#include <utility>

#include "model/etcd/v2_store.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/backends/etcd_server.h"
#include "model/rendezvous/core/bootstrap.h"
#include "model/rendezvous/core/key_prefix.h"
#include "sim/port/check.h"

namespace hooke::model {

EtcdOptions legacy_etcd_options(const RendezvousParameters& parameters) {
  EtcdOptions options;
  options.server = etcd_server(parameters, parameters.get("protocol").value_or("http"),
                               {"cacert", "cert", "key"});
  return options;
}

LegacyEtcdSettings legacy_etcd_settings(const RendezvousParameters& parameters) {
  LegacyEtcdSettings settings;
  settings.run_id = parameters.run_id;
  settings.min_nodes = parameters.min_nodes;
  settings.max_nodes = parameters.max_nodes;
  settings.timeout = parameters.get_as_seconds("timeout").value_or(settings.timeout);
  settings.last_call = parameters.get_as_seconds("last_call_timeout").value_or(settings.last_call);
  settings.prefix = parameters.get("etcd_prefix").value_or(settings.prefix);
  return settings;
}

LegacyEtcdHandler::LegacyEtcdHandler(sim::Ports& ports, const RendezvousParameters& parameters,
                                     std::shared_ptr<EtcdV2Client> client,
                                     std::shared_ptr<Store> job_store,
                                     std::unique_ptr<LegacyEtcdRendezvous> rendezvous)
    : ports_(ports),
      local_addr_(parameters.local_addr),
      variant_(parameters.variant),
      run_id_(parameters.run_id),
      descriptor_((local_addr_.empty() ? ports.network.fully_qualified_name() : local_addr_) + "_" +
                  std::to_string(ports.processes.self().value) + "_0"),
      client_(std::move(client)),
      job_store_(std::move(job_store)),
      rendezvous_(std::move(rendezvous)) {
  HOOKE_CHECK(client_ != nullptr && job_store_ != nullptr && rendezvous_ != nullptr,
              "a handler has its rendezvous, and where the job keeps the rest");
}

RendezvousInfo LegacyEtcdHandler::next_rendezvous() {
  ports_.trace.emit(events::rendezvous_joining, {run_id_, descriptor_, held_round_});
  RendezvousInfo info;
  try {
    const auto place = rendezvous_->barrier();
    info.round = held_round_ = place.version;
    info.rank = place.rank;
    info.world_size = place.world_size;
    seat_ = {place.version, place.rank};
  } catch (const RendezvousError& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, error.class_name(), error.what()});
    throw;
  } catch (const SignalException& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "SignalException", error.what()});
    throw;
  }
  HOOKE_CHECK(info.round >= 0 && info.rank >= 0, "a seat has a version and a rank");
  info.store = round_store(info.round);
  HOOKE_CHECK(info.store != nullptr, "a round that is joined has a store");
  if (rendezvous_says_where_workers_meet(variant_)) {
    const std::string told = hides_the_local_address(variant_) ? std::string() : local_addr_;
    info.bootstrap = build_store_info(ports_, info.rank, *info.store, told, 0);
  }
  ports_.trace.emit(
      events::rendezvous_joined,
      {run_id_, descriptor_, info.round, info.rank, info.world_size,
       info.bootstrap ? info.bootstrap->master_addr : std::string(),
       std::uint32_t{info.bootstrap ? info.bootstrap->master_port : std::uint16_t{0}}});
  waiting_seen_ = 0;
  return info;
}

std::shared_ptr<Store> LegacyEtcdHandler::round_store(std::int64_t round) {
  raised([&] { rendezvous_->create_store(round); });
  return make_etcd_v2_store(ports_, client_, rendezvous_->store_path(round));
}

bool LegacyEtcdHandler::is_closed() {
  return raised([&] { return rendezvous_->is_closed(); });
}

void LegacyEtcdHandler::set_closed() {
  raised([&] { rendezvous_->set_closed(); });
}

std::int64_t LegacyEtcdHandler::num_nodes_waiting() {
  const std::int64_t waiting = raised([&] { return rendezvous_->num_workers_waiting(); });
  if (std::exchange(waiting_seen_, waiting) != waiting && waiting > 0) {
    ports_.trace.emit(events::rendezvous_waiting_seen, {run_id_, held_round_, waiting});
  }
  return waiting;
}

std::vector<Seat> LegacyEtcdHandler::others_alive() {
  return raised([&] { return rendezvous_->others_alive(); });
}

std::shared_ptr<Store> LegacyEtcdHandler::job_store() {
  return make_prefix_store(job_prefix(run_id_), job_store_);
}

/// PyTorch catches every exception there is, a signal too (S-L19).
bool LegacyEtcdHandler::shutdown() {
  try {
    ports_.fault_point.reach("rendezvous.closing");
    rendezvous_->set_closed();
    return true;
  } catch (const SignalException& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "SignalException", error.what()});
    return false;
  } catch (const std::exception& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "EtcdException", error.what()});
    return false;
  }
}

}  // namespace hooke::model
