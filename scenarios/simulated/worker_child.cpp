// The port is the child's one argument.
#include "scenarios/simulated/worker_child.h"

#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/fixed_names.h"

namespace hooke::scenario {
namespace {

/// Keeps what connects, and never answers.
class Silent final : public sim::AcceptHandler {
 public:
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    streams_.push_back(std::move(stream));
  }

 private:
  std::vector<std::unique_ptr<sim::Stream>> streams_;
};

}  // namespace

bool spawn_worker_child(sim::Ports& ports, std::optional<sim::PortNumber> port) {
  sim::SpawnRequest request;
  request.argv = {std::string(kWorkerChildProgram)};
  if (port) request.argv.push_back(std::to_string(port->value));
  request.environment = ports.processes.environment();
  request.new_session = false;
  return ports.processes.spawn(request).ok();
}

int run_worker_child(sim::Ports& ports) {
  Silent silent;
  std::unique_ptr<sim::Listener> listener;
  if (const auto& arguments = ports.processes.arguments(); arguments.size() > 1) {
    std::uint16_t port = 0;
    std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), port);
    auto bound = ports.network.listen(sim::PortNumber{port}, silent);
    if (!bound) return 1;
    listener = std::move(bound.value());
  }
  for (;;) static_cast<void>(ports.executor.park(ports.executor.ticket()));
}

}  // namespace hooke::scenario
