// A rendezvous consists of reads (a wait and a get, which are two requests) and compare-and-sets.
// Each is measured with values of two sizes.
#include "reports/store_calibration.h"

#include <algorithm>
#include <array>

#include "reports/store_load.h"

namespace hooke::report {
namespace {

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 64 * 1024;  // the state of some hundred nodes

/// What is measured, how many requests of the store it is, and how many times its value travels: a
/// compare-and-set sends what should stand there and what is to, and gets back what does.
struct MeasuredOperation {
  const char* name;
  std::int64_t requests;
  std::int64_t values;
};
constexpr std::array<MeasuredOperation, 2> kOperations{{{"get", 2, 1}, {"compare_set", 1, 3}}};

sim::Duration span_of_each(const StoreFigures& figures) {
  const std::chrono::duration<double> each(1 / std::max(figures.per_second, 1e-9));
  return std::chrono::round<sim::Duration>(each);
}

StoreLoad load_of(const CalibrationPlan& plan, std::size_t connections, std::size_t value_bytes) {
  StoreLoad load;
  load.store = plan.store;
  load.connections = connections;
  load.value_bytes = value_bytes;
  load.span = plan.span;
  return load;
}

/// How long the store takes for each of kOperations.
std::array<sim::Duration, kOperations.size()> spans(sim::Ports& ports, const CalibrationPlan& plan,
                                                    std::size_t value_bytes) {
  StoreClients clients(ports, load_of(plan, plan.connections, value_bytes));
  std::array<sim::Duration, kOperations.size()> out{};
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    out[i] = span_of_each(clients.measure(kOperations[i].name));
  }
  clients.clean_up();
  return out;
}

}  // namespace

scenario::Calibration calibrate_store(sim::Ports& ports, const CalibrationPlan& plan) {
  scenario::Calibration out;
  out.endpoint = plan.store.endpoint.host + ":" +
                 std::to_string(static_cast<unsigned>(plan.store.endpoint.port.value));
  out.protocol = std::string(to_string(plan.store.variant));
  out.connections = static_cast<std::int64_t>(plan.connections);
  StoreClients one(ports, load_of(plan, 1, kSmall));
  const StoreFigures alone = one.measure("add");
  one.clean_up();

  const sim::MonotonicTime began = ports.clock.monotonic_now();
  const sim::Duration used = plan.processor_time();
  const auto small = spans(ports, plan, kSmall);
  out.client_percent = (plan.processor_time() - used) * 100 / (ports.clock.monotonic_now() - began);
  const auto large = spans(ports, plan, kLarge);
  sim::Duration base{}, per_byte{};
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    const MeasuredOperation& kind = kOperations[i];
    const sim::Duration more = std::max(large[i] - small[i], sim::Duration::zero());
    scenario::Calibration::Operation& operation = out.operations.emplace_back();
    operation.name = kind.name;
    operation.service_time = small[i] / kind.requests;
    operation.service_time_per_byte =
        more / (kind.values * static_cast<std::int64_t>(kLarge - kSmall));
    base += operation.service_time;
    per_byte += operation.service_time_per_byte;
  }
  constexpr auto kCount = static_cast<std::int64_t>(kOperations.size());
  out.service_time = base / kCount;
  out.service_time_per_byte = per_byte / kCount;
  const auto one_way = [&](sim::Duration round_trip) {
    return std::max((round_trip - out.service_time) / 2, sim::Duration::zero());
  };
  out.latency_median = one_way(alone.p50);
  out.latency_p99 = one_way(alone.p99);
  return out;
}

}  // namespace hooke::report
