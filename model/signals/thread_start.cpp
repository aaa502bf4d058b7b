#include "model/signals/thread_start.h"

#include <memory>
#include <optional>
#include <utility>

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// What the thread shares with its starter, which a signal may have sent elsewhere.
struct Beginning {
  bool begun = false;
  std::optional<sim::ParkTicket> awaits_it;
};

}  // namespace

void start_thread(sim::Ports& ports, std::string name, std::function<void()> body) {
  HOOKE_CHECK(body != nullptr, "a thread does something");
  const auto beginning = std::make_shared<Beginning>();
  ports.executor.spawn(std::move(name),
                       [&executor = ports.executor, beginning, body = std::move(body)] {
                         HOOKE_CHECK(!beginning->begun, "a thread begins once");
                         beginning->begun = true;
                         if (beginning->awaits_it) executor.wake(*beginning->awaits_it);
                         body();
                       });
  while (!beginning->begun) {
    beginning->awaits_it = ports.executor.ticket();
    const bool signalled = ports.processes.wait_signal(std::nullopt);
    beginning->awaits_it.reset();
    if (signalled) check_signals(ports);
  }
}

}  // namespace hooke::model
