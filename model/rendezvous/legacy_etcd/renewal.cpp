// All that its fiber needs belongs to the fiber.
#include "model/rendezvous/legacy_etcd/renewal.h"

#include <stdexcept>
#include <utility>

#include "model/observe/background_tasks.h"
#include "model/observe/trace_events.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kRenewAgain = std::chrono::seconds(1);

bool is_gone(const std::runtime_error& error) {
  const auto* const refused = dynamic_cast<const EtcdError*>(&error);
  return refused != nullptr && refused->code() == EtcdV2Client::kKeyNotFound;
}

}  // namespace

LegacyEtcdRenewal::LegacyEtcdRenewal(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                     Of what, Variant variant)
    : stop_(std::make_shared<sim::Flag>(ports.executor)) {
  const std::string name = std::string(tasks::kRefresh) + what.path;
  ports.executor.spawn(
      name, [&ports, client = std::move(client), what = std::move(what), variant, stop = stop_] {
        const EtcdV2Write renew{.refresh = true,
                                .ttl_seconds = what.time_to_live / std::chrono::seconds(1),
                                .previous_exists = true};
        sim::Duration pause{};
        do {
          pause = what.too_late ? what.time_to_live * 2 : what.time_to_live / 2;
          try {
            client->put(what.path, renew);
          } catch (const std::runtime_error& error) {  // EtcdError or EtcdConnectionError
            const bool hardened = variant == Variant::hardened;
            if (is_gone(error) && !(hardened && what.may_come_again)) return;
            const std::string detail = what.path + ": " + error.what();
            if (!hardened) {
              ports.trace.emit(events::keep_alive_died, {detail});
              return;
            }
            ports.trace.emit(events::keep_alive_tick, {"failed", detail});
            pause = kRenewAgain;
          }
        } while (!stop->wait(ports.clock.monotonic_now() + pause));
      });
}

LegacyEtcdRenewal::~LegacyEtcdRenewal() {
  stop_->set();
}

}  // namespace hooke::model
