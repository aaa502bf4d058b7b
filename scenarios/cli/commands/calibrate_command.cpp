// hooke calibrate: measures a live store for simulations of it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"
#include "reports/store_calibration.h"
#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/seconds.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

/// From here on the measuring process may be what limits the rate.
constexpr std::int64_t kBusyPercent = 90;

struct CalibrateOptions {
  std::string endpoint;
  report::CalibrationPlan plan;
  double seconds = 1;
  std::string output;
};

sim::Duration processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto span = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return span(usage.ru_utime) + span(usage.ru_stime);
}

void tell(const scenario::Calibration& found) {
  std::fputs(
      fmt::format("{} speaks {}: {} for a request and {} for a byte ({} clients at once); "
                  "one way {} (median), {} (p99)\n",
                  found.endpoint, found.protocol, report::short_time(found.service_time),
                  report::short_time(found.service_time_per_byte), found.connections,
                  report::short_time(found.latency_median), report::short_time(found.latency_p99))
          .c_str(),
      stderr);
  if (found.client_percent < kBusyPercent) return;
  std::fputs(
      fmt::format("the clients took {} % of a processor: the store may be faster than that\n",
                  found.client_percent)
          .c_str(),
      stderr);
}

int calibrate(sim::Ports& ports, CalibrateOptions& options, OutputFile& file) {
  model::TcpStoreOptions& store = options.plan.store;
  try {
    store.endpoint = model::parse_endpoint(options.endpoint, 29400);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "hooke calibrate: ENDPOINT: %s\n", error.what());
    return kBadInput;
  }
  store.timeout = std::chrono::seconds(60);
  options.plan.span = span_of(options.seconds);
  options.plan.processor_time = processor_time;
  try {
    store.variant = model::detect_tcp_store(ports, store.endpoint, store.timeout);
    const scenario::Calibration found = report::calibrate_store(ports, options.plan);
    tell(found);
    (file.is_open() ? file : std::cout) << scenario::calibration_json(found).dump(2) << '\n';
  } catch (const model::StoreError& error) {
    std::fprintf(stderr, "hooke calibrate: %s\n", error.what());
    return kSomethingFell;
  }
  file.finish();
  return kAllHeld;
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure a live TCPStore, and write it down for bench, plan and run");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option("endpoint", options->endpoint, "HOST[:PORT] of a PyTorch or hooke store")
      ->type_name("ENDPOINT")
      ->required();
  command
      ->add_option("--connections", options->plan.connections,
                   "Clients that ask at once; some servers are slower with more")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Length of each of five measurements")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->add_option("--output", options->output, "Where to write, instead of standard output")
      ->type_name("FILE");
  command->footer(
      "Writes keys that begin with hooke-load/, and deletes them: it takes all that the store can "
      "give, so not for the store of a job you care about.\n"
      "Examples:\n"
      "  hooke calibrate head-node:29400 --output store.json\n"
      "  hooke bench rendezvous --nodes 512 1024 --calibration store.json\n"
      "Exit codes: 0; 1 the store failed; 2 bad usage.");
  command->callback([options, &exit_code] {
    OutputFile file("--output", options->output);
    real::allow_many_descriptors();
    real::RealProcess process({"hooke"});
    exit_code = process.run([&](sim::Ports& ports) { return calibrate(ports, *options, file); });
  });
}

}  // namespace hooke::cli
