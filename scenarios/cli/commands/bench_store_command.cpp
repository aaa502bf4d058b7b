// hooke bench store: the speed of any TCPStore.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"
#include "reports/store_load.h"
#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/cli/seconds.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

struct BenchStoreOptions {
  std::string endpoint = "localhost:29400";
  std::vector<std::size_t> connections{1, 64, 1000};
  std::vector<std::string> operations = report::store_operations();
  std::size_t value_bytes = 64;
  double seconds = 2;
  std::string json_path;
};

int measure(sim::Ports& ports, const BenchStoreOptions& options, OutputFile& json) {
  report::StoreLoad load;
  try {
    load.store.endpoint = model::parse_endpoint(options.endpoint, 29400);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "hooke bench store: --endpoint: %s\n", error.what());
    return kBadInput;
  }
  load.store.timeout = std::chrono::seconds(60);
  load.value_bytes = options.value_bytes;
  load.span = span_of(options.seconds);
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  try {
    load.store.variant = model::detect_tcp_store(ports, load.store.endpoint, load.store.timeout);
    std::cout << fmt::format("{:>11}  {:<12} {:>13} {:>9} {:>9}\n", "connections", "operation",
                             "per second", "p50", "p99");
    for (const std::size_t connections : options.connections) {
      load.connections = connections;
      report::StoreClients clients(ports, load);
      for (const std::string& operation : options.operations) {
        const report::StoreFigures figures = clients.measure(operation);
        std::cout << fmt::format("{:>11}  {:<12} {:>13} {:>9} {:>9}\n", connections, operation,
                                 report::grouped(static_cast<std::uint64_t>(figures.per_second)),
                                 report::short_time(figures.p50), report::short_time(figures.p99))
                  << std::flush;
        results.push_back({{"connections", connections},
                           {"operation", operation},
                           {"per_second", figures.per_second},
                           {"p50_ns", figures.p50.count()},
                           {"p99_ns", figures.p99.count()}});
      }
    }
  } catch (const model::StoreError& error) {
    std::fprintf(stderr, "hooke bench store: %s\n", error.what());
    return kSomethingFell;
  }
  if (json.is_open()) json << results.dump(2) << '\n';
  json.finish();
  return kAllHeld;
}

}  // namespace

void add_bench_store(CLI::App& bench, int& exit_code) {
  CLI::App* command = bench.add_subcommand("store", "Requests per second of a live TCPStore");
  auto options = std::make_shared<BenchStoreOptions>();
  command->add_option("--endpoint", options->endpoint, "HOST[:PORT] of a PyTorch or hooke store")
      ->capture_default_str();
  command->add_option("--connections", options->connections, "Numbers of clients")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--operations", options->operations, "What they do")
      ->check(CLI::IsMember(report::store_operations()))
      ->capture_default_str();
  command->add_option("--value-bytes", options->value_bytes, "Size of the values")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Length of each measurement")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->add_option("--json", options->json_path, "Write the figures as JSON")->type_name("FILE");
  command->footer(
      "Writes keys that begin with hooke-load/: not for the store of a job you care about.\n"
      "Exit codes: 0; 1 the store failed; 2 bad usage.");
  command->callback([options, &exit_code] {
    OutputFile json("--json", options->json_path);
    real::allow_many_descriptors();
    real::RealProcess process({"hooke"});
    exit_code = process.run([&](sim::Ports& ports) { return measure(ports, *options, json); });
  });
}

}  // namespace hooke::cli
