#include "model/hardened/legacy_etcd/lasting_renewal.h"

#include "model/observe/trace_events.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kRenewAgain = std::chrono::seconds(1);

}  // namespace

std::optional<sim::Duration> renew_while_there(sim::Ports& ports, const std::string& path,
                                               const std::runtime_error& error) {
  if (LegacyEtcdRenewal::is_gone(error)) return std::nullopt;
  return renew_whatever_happens(ports, path, error);
}

std::optional<sim::Duration> renew_whatever_happens(sim::Ports& ports, const std::string& path,
                                                    const std::runtime_error& error) {
  ports.trace.emit(events::keep_alive_tick, {"failed", path + ": " + error.what()});
  return kRenewAgain;
}

}  // namespace hooke::model
