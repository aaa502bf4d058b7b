// All that its fiber needs belongs to the fiber.
#include "model/rendezvous/legacy_etcd/renewal.h"

#include <utility>

#include "model/observe/background_tasks.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {

bool LegacyEtcdRenewal::is_gone(const std::runtime_error& error) {
  const auto* const refused = dynamic_cast<const EtcdError*>(&error);
  return refused != nullptr && refused->code() == EtcdV2Client::kKeyNotFound;
}

std::optional<sim::Duration> LegacyEtcdRenewal::ends(sim::Ports& ports, const std::string& path,
                                                     const std::runtime_error& error) {
  if (!is_gone(error)) ports.trace.emit(events::keep_alive_died, {path + ": " + error.what()});
  return std::nullopt;
}

LegacyEtcdRenewal::LegacyEtcdRenewal(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                     Of what, AfterError after_error)
    : stop_(std::make_shared<sim::Flag>(ports.executor)) {
  HOOKE_CHECK(what.interval > sim::Duration::zero(), "a renewal pauses before the next");
  HOOKE_CHECK(what.time_to_live >= std::chrono::seconds(1), "etcd counts lives in seconds");
  HOOKE_CHECK(client != nullptr && after_error != nullptr, "a renewal that fails has a sequel");
  HOOKE_CHECK(what.time_to_live % std::chrono::seconds(1) == sim::Duration::zero(),
              "etcd counts lives in whole seconds");
  HOOKE_CHECK(!what.path.empty(), "what is renewed has a path");
  const std::string name = std::string(tasks::kRefresh) + what.path;
  ports.executor.spawn(name, [&ports, client = std::move(client), what = std::move(what),
                              after_error, stop = stop_] {
    const EtcdV2Write renew{.refresh = true,
                            .ttl_seconds = what.time_to_live / std::chrono::seconds(1),
                            .previous_exists = true};
    std::optional<sim::Duration> pause;
    do {
      pause = what.interval;
      try {
        client->put(what.path, renew);
      } catch (const std::runtime_error& error) {  // EtcdError or EtcdConnectionError
        pause = after_error(ports, what.path, error);
      }
    } while (pause && !stop->wait(ports.clock.monotonic_now() + *pause));
  });
}

LegacyEtcdRenewal::~LegacyEtcdRenewal() {
  stop_->set();
}

}  // namespace hooke::model
