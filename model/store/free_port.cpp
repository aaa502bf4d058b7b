// A client that connects while the port is probed is sent away.
#include "model/store/free_port.h"

#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

class ResettingHandler final : public sim::AcceptHandler {
 public:
  void on_accept(std::unique_ptr<sim::Stream> stream) override { stream->reset(); }
};

}  // namespace

sim::PortNumber probe_free_port(sim::Network& network) {
  ResettingHandler resetting;
  const auto listener = network.listen(sim::PortNumber{0}, resetting);
  if (!listener) throw std::runtime_error("no port is free");
  HOOKE_CHECK(listener.value()->local().port.value != 0, "a port that is free has a number");
  return listener.value()->local().port;
}

}  // namespace hooke::model
