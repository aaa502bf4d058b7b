// The launcher of the agent's own processes, and the table of names.
#include "model/worker/process_launcher.h"

#include "model/worker/pool_launcher.h"

namespace hooke::model {
namespace {

class LocalLauncher final : public ProcessLauncher {
 public:
  explicit LocalLauncher(sim::ProcessHost& processes) : processes_(processes) {}
  void reserve(std::int64_t) override {}
  sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) override {
    return processes_.spawn(request);
  }
  std::optional<sim::ExitStatus> poll(sim::Pid worker) override { return processes_.poll(worker); }
  sim::Outcome<sim::Done> signal(sim::Pid worker, sim::Signal signal, bool group) override {
    return group ? processes_.signal_group(worker, signal) : processes_.signal(worker, signal);
  }
  void release() override {}

 private:
  sim::ProcessHost& processes_;
};

}  // namespace

ProcessLauncherRegistry ProcessLauncherRegistry::with_builtins() {
  ProcessLauncherRegistry registry;
  registry.add("local", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<ProcessLauncherKind>(ProcessLauncherKind{
        [](sim::Ports& ports) { return std::make_unique<LocalLauncher>(ports.processes); }});
  });
  registry.add("pool", pool_launcher_kind);
  return registry;
}

}  // namespace hooke::model
