// Whoever connects while the port is probed is sent away.
#include "model/store/free_port.h"

#include <stdexcept>

namespace hooke::model {
namespace {

class NobodyHome final : public sim::AcceptHandler {
 public:
  void on_accept(std::unique_ptr<sim::Stream> stream) override { stream->reset(); }
};

}  // namespace

sim::PortNumber probe_free_port(sim::Network& network) {
  NobodyHome nobody;
  const auto listener = network.listen(sim::PortNumber{0}, nobody);
  if (!listener) throw std::runtime_error("no port is free");
  return listener.value()->local().port;
}

}  // namespace hooke::model
