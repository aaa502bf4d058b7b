// The launcher of the agent's own processes, and the table of names.
#include "model/worker/process_launcher.h"

#include "model/observe/restart_events.h"
#include "model/signals/signal_gate.h"
#include "model/worker/pool_launcher.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class LocalLauncher : public ProcessLauncher {
 public:
  explicit LocalLauncher(sim::ProcessHost& processes) : processes_(processes) {}
  void reserve(std::int64_t count) override {
    HOOKE_CHECK(count > 0, "room is for one worker at least");
  }
  sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) override {
    HOOKE_CHECK(!request.argv.empty(), "a worker has a command");
    return processes_.spawn(request);
  }
  std::optional<sim::ExitStatus> poll(sim::Pid worker) override {
    // 0 and numbers below it stand for any child to the operating system.
    HOOKE_CHECK(worker.value > 0, "a worker that is asked for has a number");
    return processes_.poll(worker);
  }
  [[nodiscard]] bool may_have_news() override { return processes_.may_have_ended_children(); }
  sim::Outcome<sim::Done> signal(sim::Pid worker, sim::Signal signal, bool group) override {
    // 0 and numbers below it are groups to the operating system, the agent's own among them.
    HOOKE_CHECK(worker.value > 0, "a worker that is signalled has a number");
    return group ? processes_.signal_group(worker, signal) : processes_.signal(worker, signal);
  }
  void release() override {}

 private:
  sim::ProcessHost& processes_;
};

/// A program on a file system that comes a moment later, or a machine without a free process number,
/// fails only for a while.
class PatientLauncher final : public LocalLauncher {
 public:
  PatientLauncher(sim::Ports& ports, std::int64_t attempts, sim::Duration pause)
      : LocalLauncher(ports.processes), ports_(ports), attempts_(attempts), pause_(pause) {
    HOOKE_CHECK(attempts_ >= 1 && pause_ >= sim::Duration::zero(),
                "a worker is tried once at least");
  }
  sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) override {
    for (std::int64_t attempt = 1;; ++attempt) {
      auto started = LocalLauncher::start(request);
      if (started) return started;
      HOOKE_CHECK(attempt <= attempts_, "no worker is tried more often than it may be");
      ports_.trace.emit(events::worker_start_failed,
                        {request.argv.front(), attempt, attempts_,
                         to_string(started.failure().fault), started.failure().detail});
      if (attempt == attempts_) return started;
      interruptible_sleep(ports_, pause_);
    }
  }

 private:
  sim::Ports& ports_;
  std::int64_t attempts_;
  sim::Duration pause_;
};

std::unique_ptr<ProcessLauncherKind> patient_launcher_kind(const PluginChoice& choice) {
  using namespace std::chrono_literals;
  choice.allow({"attempts", "pause"});
  const std::int64_t attempts = choice.integer("attempts", 1, 1'000'000, 3);
  const sim::Duration pause = choice.span("pause", 1s);
  return std::make_unique<ProcessLauncherKind>(ProcessLauncherKind{[=](sim::Ports& ports) {
    return std::make_unique<PatientLauncher>(ports, attempts, pause);
  }});
}

}  // namespace

ProcessLauncherRegistry ProcessLauncherRegistry::with_builtins() {
  ProcessLauncherRegistry registry;
  registry.add("local", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<ProcessLauncherKind>(ProcessLauncherKind{
        [](sim::Ports& ports) { return std::make_unique<LocalLauncher>(ports.processes); }});
  });
  registry.add("patient", patient_launcher_kind);
  registry.add("pool", pool_launcher_kind);
  return registry;
}

}  // namespace hooke::model
