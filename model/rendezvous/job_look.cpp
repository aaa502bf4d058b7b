// How each backend's store is reached, and which observer reads it.
#include "model/rendezvous/job_look.h"

#include <memory>
#include <utility>

#include "model/etcd/v2_store.h"
#include "model/etcd/v3_store.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/etcd_factory.h"
#include "model/rendezvous/legacy_etcd/handler.h"
#include "model/store/file_store.h"
#include "model/store/kinds/tcp_stores.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::uint16_t kUsualPort = 29400;
constexpr sim::Duration kUsualTimeout = std::chrono::seconds(60);

sim::Duration patience(const RendezvousParameters& parameters) {
  return parameters.get_as_seconds("read_timeout").value_or(kUsualTimeout);
}

std::shared_ptr<Store> connect_to_store(sim::Ports& ports, const RendezvousParameters& parameters) {
  TcpStoreOptions target;
  target.endpoint = parse_endpoint(parameters.endpoint, kUsualPort);
  target.timeout = patience(parameters);
  target.variant = detect_tcp_store(ports, target.endpoint, target.timeout);
  return connect_tcp_store(ports, target);
}

StateLook look_at_c10d(sim::Ports& ports, const RendezvousParameters& parameters) {
  std::shared_ptr<Store> store;
  if (parameters.get("store_type") == "file") {
    // Reading would wait for a file that is not there yet.
    if (!ports.files.exists(parameters.endpoint)) {
      throw StoreError(parameters.endpoint + ": there is no such file");
    }
    store = open_file_store(ports, parameters.endpoint, FileStoreUser::onlooker);
  } else {
    store = connect_to_store(ports, parameters);
  }
  return [store, run_id = parameters.run_id] { return observe_c10d(*store, run_id); };
}

StateLook look_through(std::shared_ptr<RendezvousBackend> backend, std::shared_ptr<Store> store,
                       const std::string& run_id) {
  HOOKE_CHECK(backend != nullptr && store != nullptr, "a look has a backend and a store");
  return [backend = std::move(backend), store = std::move(store), run_id] {
    return observe(*backend, *store, run_id);
  };
}

JobLook look_at_legacy_etcd(sim::Ports& ports, const RendezvousParameters& parameters) {
  EtcdOptions options = as_onlooker(legacy_etcd_options(parameters));
  options.read_timeout = patience(parameters);
  return [&ports, client = connect_etcd<EtcdV2Client>(ports, options),
          prefix = legacy_etcd_settings(parameters).prefix, run_id = parameters.run_id] {
    const auto view = observe_legacy_etcd(ports, client, prefix, run_id);
    return JobSight{job_record(run_id, view), view ? view->state_bytes : 0};
  };
}

JobLook look_at_static(sim::Ports& ports, const RendezvousParameters& parameters) {
  const sim::Endpoint at = parse_endpoint(parameters.endpoint, kUsualPort);
  return [store = connect_to_store(ports, parameters), run_id = parameters.run_id, at] {
    return JobSight{job_record(run_id, observe_static(*store, run_id), {at.host, at.port.value}),
                    0};
  };
}

}  // namespace

bool has_dynamic_state(const std::string& backend) {
  return backend != "etcd" && backend != "static";
}

StateLook look_at_state(sim::Ports& ports, const RendezvousParameters& parameters) {
  if (parameters.backend == "etcd-v2") {
    auto client = connect_etcd<EtcdV2Client>(ports, as_onlooker(etcd_options(parameters)));
    return look_through(make_etcd_v2_backend(client, parameters.run_id),
                        make_etcd_v2_store(ports, client, etcd_v2_store_prefix()),
                        parameters.run_id);
  }
  if (parameters.backend == "etcd-v3") {
    auto client = connect_etcd<EtcdV3Client>(ports, etcd_options(parameters));
    return look_through(make_etcd_v3_backend(ports.clock, client, parameters.run_id),
                        make_etcd_v3_store(ports, client, etcd_v3_store_prefix()),
                        parameters.run_id);
  }
  return look_at_c10d(ports, parameters);
}

JobLook look_at_job(sim::Ports& ports, const RendezvousParameters& parameters) {
  if (parameters.backend == "etcd") return look_at_legacy_etcd(ports, parameters);
  if (parameters.backend == "static") return look_at_static(ports, parameters);
  return [&ports, look = look_at_state(ports, parameters), parameters] {
    const auto view = look();
    return JobSight{job_record(parameters.run_id, parameters.backend, view, ports.clock.wall_now()),
                    view ? view->state_bytes : 0};
  };
}

}  // namespace hooke::model
