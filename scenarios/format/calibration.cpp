// Store and network have the form that they have in a scenario's cluster, so that either can be
// copied into one.
#include "scenarios/format/calibration.h"

#include "scenarios/format/cluster_loader.h"
#include "scenarios/format/duration.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kConnectionsMax = 1'000'000;
constexpr std::int64_t kPercentMax = 100'000;  // a thousand processors

void load_measured(const Place& place, Calibration& out) {
  place.object({"endpoint", "protocol", "connections", "client_percent", "operations"});
  out.endpoint = place.at("endpoint").shown_text();
  if (out.endpoint.empty()) place.at("endpoint").refuse_value("HOST:PORT");
  out.protocol = place.at("protocol").shown_text();
  out.connections = place.at("connections").integer(1, kConnectionsMax);
  out.client_percent = place.at("client_percent").integer(0, kPercentMax);
  for (const auto& [name, operation] : place.at("operations").members()) {
    operation.object({"service_time", "service_time_per_byte"});
    out.operations.push_back({name, operation.at("service_time").duration(),
                              operation.at("service_time_per_byte").duration()});
  }
}

}  // namespace

Calibration load_calibration(std::string_view text, const std::string& source) {
  const nlohmann::ordered_json json = parse_json(text, source);
  const Place top(json, "", source);
  top.object({"version", "store", "network", "measured"});
  static_cast<void>(top.at("version").integer(kVersion, kVersion));
  ClusterPlan cluster;
  const Place store = top.at("store");
  store.object({"service_time", "service_time_per_byte"});
  for (const char* const key : {"service_time", "service_time_per_byte"}) {
    static_cast<void>(store.at(key));
  }
  load_store(store, cluster);
  const Place network = top.at("network");
  network.object({"latency"});
  for (const char* const key : {"median", "p99"}) {
    static_cast<void>(network.at("latency").at(key));
  }
  load_network(network, cluster);
  Calibration out;
  out.service_time = cluster.service_time;
  out.service_time_per_byte = cluster.service_time_per_byte;
  out.latency_median = cluster.latency_median;
  out.latency_p99 = cluster.latency_p99;
  if (top.has("measured")) load_measured(top.at("measured"), out);
  return out;
}

nlohmann::ordered_json calibration_json(const Calibration& calibration) {
  nlohmann::ordered_json out{
      {"version", kVersion},
      {"store",
       {{"service_time", duration_text(calibration.service_time)},
        {"service_time_per_byte", duration_text(calibration.service_time_per_byte)}}},
      {"network",
       {{"latency",
         {{"median", duration_text(calibration.latency_median)},
          {"p99", duration_text(calibration.latency_p99)}}}}}};
  if (calibration.endpoint.empty()) return out;
  nlohmann::ordered_json operations = nlohmann::ordered_json::object();
  for (const Calibration::Operation& each : calibration.operations) {
    operations[each.name] = {{"service_time", duration_text(each.service_time)},
                             {"service_time_per_byte", duration_text(each.service_time_per_byte)}};
  }
  out["measured"] = {{"endpoint", calibration.endpoint},
                     {"protocol", calibration.protocol},
                     {"connections", calibration.connections},
                     {"client_percent", calibration.client_percent},
                     {"operations", operations}};
  return out;
}

void apply(const Calibration& calibration, ClusterPlan& cluster) {
  cluster.service_time = calibration.service_time;
  cluster.service_time_per_byte = calibration.service_time_per_byte;
  cluster.latency_median = calibration.latency_median;
  cluster.latency_p99 = calibration.latency_p99;
}

}  // namespace hooke::scenario
