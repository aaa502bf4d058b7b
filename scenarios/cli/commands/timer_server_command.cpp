// hooke timer-server: file timers for workers that no agent watches.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "model/timer/kinds/timers_of_variant.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/seconds.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

struct TimerServerOptions {
  std::string path;
  double interval = 0.1;
};

void print(const model::WatchdogEvent& event) {
  if (event.timer == nullptr) {
    fmt::print("hooke timer-server: {}\n", event.name);
  } else {
    fmt::print("hooke timer-server: {}: pid {}, scope {}\n", event.name, event.timer->worker_id,
               event.timer->scope_id);
  }
  std::fflush(stdout);
}

int serve(const TimerServerOptions& options) {
  real::RealProcess process({"hooke"});
  return process.run([&](sim::Ports& ports) {
    model::FileTimerOptions timers;
    timers.path = options.path;
    timers.max_interval = span_of(options.interval);
    timers.variant = model::Variant::hardened;
    timers.on_event = print;
    for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_}) {
      static_cast<void>(ports.processes.catch_signal(signal));
    }
    std::unique_ptr<model::FileTimerServer> server;
    try {
      server = model::make_file_timer_server(ports, timers);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "hooke timer-server: --path: %s\n", error.what());
      return kBadInput;
    }
    server->start();
    while (!ports.processes.wait_signal(std::nullopt)) {
    }
    server->stop();
    return kAllHeld;
  });
}

}  // namespace

void add_timer_server(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("timer-server", "End workers that let a deadline of theirs pass");
  auto options = std::make_shared<TimerServerOptions>();
  command
      ->add_option("--path", options->path,
                   "The FIFO that workers write to, as TORCHELASTIC_TIMER_FILE tells them; what "
                   "lies there is replaced")
      ->type_name("FILE")
      ->required();
  command->add_option("--interval", options->interval, "Time between two looks at the deadlines")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->footer(
      "Example: hooke timer-server --path /tmp/timers, and in the worker, in Python:\n"
      "  timer.configure(timer.FileTimerClient(\"/tmp/timers\"))\n"
      "  with timer.expires(after=60): step()\n"
      "Exit codes: 0 stopped by SIGTERM or SIGINT; 2 the path cannot be used or the usage wrong.");
  command->callback([options, &exit_code] { exit_code = serve(*options); });
}

}  // namespace hooke::cli
