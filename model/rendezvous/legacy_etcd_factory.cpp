#include "model/rendezvous/legacy_etcd_factory.h"

#include <utility>

#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/hardened/legacy_etcd/hardened_handler.h"
#include "model/observe/python_error.h"
#include "model/planted/planted_legacy_rendezvous.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/etcd_factory.h"
#include "model/rendezvous/legacy_etcd/handler.h"

namespace hooke::model {
namespace {

/// `Rendezvous` and `Run` of one variant.
template <class Rendezvous, class Run>
std::unique_ptr<Rendezvous> make_rendezvous(sim::Ports& ports, PlantedSet planted,
                                            const std::shared_ptr<EtcdV2Client>& client,
                                            LegacyEtcdSettings settings) {
  auto run = std::make_unique<Run>(ports, client, settings.prefix, settings.run_id);
  if (planted == PlantedSet()) {
    return std::make_unique<Rendezvous>(ports, client, std::move(settings), std::move(run));
  }
  return std::make_unique<PlantedLegacyEtcdRendezvous<Rendezvous>>(
      planted, ports, client, std::move(settings), std::move(run));
}

std::unique_ptr<RendezvousHandler> connect(sim::Ports& ports,
                                           const RendezvousParameters& parameters,
                                           const EtcdOptions& options,
                                           LegacyEtcdSettings settings) {
  auto client = std::make_shared<EtcdV2Client>(ports, options);
  auto job_store = make_hardened_etcd_v2_store(ports, client, etcd_v2_store_prefix());
  if (parameters.variant == Variant::hardened) {
    auto rendezvous = make_rendezvous<HardenedLegacyEtcdRendezvous, HardenedLegacyEtcdRun>(
        ports, parameters.planted, client, std::move(settings));
    return std::make_unique<HardenedLegacyEtcdHandler>(ports, parameters, std::move(client),
                                                       std::move(job_store), std::move(rendezvous));
  }
  auto rendezvous = make_rendezvous<LegacyEtcdRendezvous, LegacyEtcdRun>(
      ports, parameters.planted, client, std::move(settings));
  return std::make_unique<LegacyEtcdHandler>(ports, parameters, std::move(client),
                                             std::move(job_store), std::move(rendezvous));
}

}  // namespace

std::unique_ptr<RendezvousHandler> make_legacy_etcd_handler(
    sim::Ports& ports, const RendezvousParameters& parameters) {
  EtcdOptions options = legacy_etcd_options(parameters);
  options.v2_members = etcd_v2_members(parameters.variant);
  LegacyEtcdSettings settings = legacy_etcd_settings(parameters);
  if (parameters.variant == Variant::hardened) {
    options = hardened_legacy_options(std::move(options));
    settings = hardened_legacy_settings(std::move(settings));
  }
  try {
    return connect(ports, parameters, options, std::move(settings));
  } catch (const EtcdError& error) {
    throw EscapedPythonError("EtcdException", error.what());
  } catch (const EtcdConnectionError& error) {
    throw EscapedPythonError("EtcdConnectionFailed", error.what());
  }
}

}  // namespace hooke::model
