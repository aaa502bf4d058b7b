// hooke state: the live rendezvous of any job.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "model/rendezvous/endpoint.h"
#include "model/rendezvous/errors.h"
#include "model/store/tcp_store.h"
#include "reports/rendezvous_view.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/seconds.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

struct Options {
  report::RendezvousPlace place{"c10d", "localhost:29400", "none"};
  double timeout_s = 10;
  double watch_s = 0;
  bool json = false;
};

/// Prints one view; whether there is such a job.
bool show(sim::Ports& ports, model::Store& store, const Options& options) {
  const auto view = model::observe_c10d(store, options.place.run_id);
  if (!view) {
    std::fprintf(stderr, "hooke state: the store at %s knows no job \"%s\" (--rdzv-id)\n",
                 options.place.endpoint.c_str(), options.place.run_id.c_str());
    return false;
  }
  const sim::WallTime now = ports.clock.wall_now();
  const std::string text = options.json ? report::view_json(options.place, *view, now)
                                        : report::view_text(options.place, *view, now);
  // A terminal shows the newest view in place of the last one, a file all of them.
  if (options.watch_s > 0 && !options.json && isatty(STDOUT_FILENO) != 0) {
    std::fputs("\033[H\033[J", stdout);
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return true;
}

int watch(sim::Ports& ports, const Options& options) {
  try {
    model::TcpStoreOptions target;
    target.endpoint = model::parse_endpoint(options.place.endpoint, 29400);
    target.timeout = span_of(options.timeout_s);
    target.variant = model::detect_tcp_store(ports, target.endpoint, target.timeout);
    const auto store = model::connect_tcp_store(ports, target);
    if (options.watch_s <= 0) return show(ports, *store, options) ? kAllHeld : kSomethingFell;
    for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_}) {
      static_cast<void>(ports.processes.catch_signal(signal));
    }
    do {
      static_cast<void>(show(ports, *store, options));
    } while (!ports.processes.wait_signal(ports.clock.monotonic_now() + span_of(options.watch_s)));
    return kAllHeld;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "hooke state: --rdzv-endpoint: %s\n", error.what());
    return kBadInput;
  } catch (const model::RendezvousError& error) {
    std::fprintf(stderr, "hooke state: what the store holds is not a state: %s\n", error.what());
  } catch (const model::StoreError& error) {
    std::fprintf(stderr, "hooke state: --rdzv-endpoint: %s\n", error.what());
  }
  return kSomethingFell;
}

}  // namespace

void add_state(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "state", "Show the live rendezvous of a job of torchrun or hooke agents; changes nothing");
  auto options = std::make_shared<Options>();
  command->add_option("--rdzv-endpoint,--rdzv_endpoint", options->place.endpoint, "As the job's")
      ->capture_default_str();
  command->add_option("--rdzv-id,--rdzv_id", options->place.run_id, "As the job's")
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for the store")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->add_option("--watch", options->watch_s, "Look again every so many seconds")
      ->check(seconds_from(0.001))
      ->expected(0, 1)
      ->default_str("1");
  command->add_flag("--json", options->json, "One JSON object per look");
  command->footer(
      "Ages of heartbeats are by the clock of this machine.\n"
      "Example: hooke state --rdzv-endpoint head:29400 --rdzv-id job --watch\n"
      "Exit codes: 0; 1 no such job, or the store failed; 2 bad usage.");
  command->callback([options, &exit_code] {
    real::RealProcess process({"hooke"});
    exit_code = process.run([&](sim::Ports& ports) { return watch(ports, *options); });
  });
}

}  // namespace hooke::cli
