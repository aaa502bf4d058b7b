// A node, the network, the store, then all of it.
#include "scenarios/format/cluster_loader.h"

#include <algorithm>

#include "scenarios/format/duration.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/protocol_loader.h"

namespace hooke::scenario {
namespace {

/// When the agents of a range start: evenly from "from" to "to", or each so much later than the one
/// before.
struct StartSpread {
  Duration first{}, step{};
};

StartSpread load_spread(const Place& place, std::int64_t nodes) {
  place.object({"from", "to", "stagger"});
  StartSpread out;
  if (place.has("from")) out.first = place.at("from").duration();
  if (place.has("to") == place.has("stagger")) place.refuse_value("one of \"to\" and \"stagger\"");
  if (place.has("stagger")) {
    out.step = place.at("stagger").duration();
    if (nodes > 1 && out.step > (kSpanMax - out.first) / (nodes - 1)) {
      place.at("stagger").refuse_value("a shorter time between two of so many nodes");
    }
    return out;
  }
  const Duration last = place.at("to").duration();
  if (last < out.first) place.at("to").refuse_value("a time that is not before \"from\"");
  if (nodes > 1) out.step = (last - out.first) / (nodes - 1);
  return out;
}

/// A name as it may stand before the port of an endpoint.
std::string host_name(const Place& place) {
  constexpr std::size_t kLettersMax = 253;
  const std::string text = place.text();
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (text.empty() || text.size() > kLettersMax || !std::all_of(text.begin(), text.end(), allowed))
    place.refuse_value("the name of a host, of letters, digits, \".\", \"-\" and \"_\"");
  return text;
}

/// A node that starts when the run is over is a mistake of the scenario's.
void refuse_late_start(const Place& start, Duration last, Duration time_limit) {
  if (last <= time_limit) return;
  start.refuse_value("a start of at most /time_limit (" + duration_text(time_limit) +
                     "), after which nothing happens; \"never\" is for a node that the timeline "
                     "starts");
}

void load_node(const Place& place, NodeNames& names, Duration time_limit,
               std::vector<NodePlan>& nodes) {
  place.object({"id", "start", "clock", "variant", "local_addr"});
  NodePlan plan;
  const std::vector<std::string> ids = names.declare(place.at("id"));
  StartSpread spread;
  const bool never = place.has("start") && place.at("start").json() == "never";
  if (place.has("start") && !never) {
    const Place start = place.at("start");
    spread = start.json().is_object() ? load_spread(start, std::ssize(ids))
                                      : StartSpread{start.duration(), {}};
    refuse_late_start(start, spread.first + spread.step * (std::ssize(ids) - 1), time_limit);
  }
  if (place.has("clock")) {
    const Place clock = place.at("clock");
    clock.object({"skew", "drift_ppm"});
    if (clock.has("skew")) plan.clock_skew = clock.at("skew").signed_duration();
    if (clock.has("drift_ppm"))
      plan.clock_drift_ppm = clock.at("drift_ppm").integer(-100'000, 100'000);
  }
  if (place.has("variant")) plan.variant = load_variant(place.at("variant"));
  if (place.has("local_addr")) {
    plan.local_addr = host_name(place.at("local_addr"));
    if (ids.size() > 1) place.at("local_addr").refuse_value("no address that several nodes share");
  }
  for (const std::string& id : ids) {
    plan.id = id;
    plan.start = never ? std::nullopt : std::optional(spread.first);
    spread.first += spread.step;
    nodes.push_back(plan);
  }
}

std::int64_t bandwidth(const Place& place) {
  const std::string text = place.text();
  for (const auto& [unit, factor] : {std::pair<std::string, std::int64_t>{"Gbps", 1'000'000'000},
                                     {"Mbps", 1'000'000},
                                     {"kbps", 1'000},
                                     {"bps", 1}}) {
    if (!text.ends_with(unit)) continue;
    const std::string digits = text.substr(0, text.size() - unit.size());
    const bool numeric =
        !digits.empty() && digits.size() <= 9 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (numeric && std::stoll(digits) > 0) return std::stoll(digits) * factor;
  }
  place.refuse_value("a bandwidth with a unit such as \"10Gbps\"");
}

}  // namespace

void load_network(const Place& place, ClusterPlan& plan) {
  place.object({"latency", "bandwidth"});
  if (place.has("latency")) {
    const Place latency = place.at("latency");
    latency.object({"median", "p99"});
    if (latency.has("median")) plan.latency_median = latency.at("median").duration();
    plan.latency_p99 = latency.has("p99") ? latency.at("p99").duration() : plan.latency_median;
    if (plan.latency_p99 < plan.latency_median)
      latency.refuse_value("p99 to be at least the median");
  }
  if (place.has("bandwidth")) plan.bandwidth_bits_per_s = bandwidth(place.at("bandwidth"));
}

void load_store(const Place& place, ClusterPlan& plan) {
  place.object({"service_time", "service_time_per_byte", "backlog"});
  if (place.has("service_time")) plan.service_time = place.at("service_time").duration();
  if (place.has("service_time_per_byte")) {
    const Place per_byte = place.at("service_time_per_byte");
    plan.service_time_per_byte = per_byte.duration();
    if (plan.service_time_per_byte > 1s) per_byte.refuse_value("a duration of at most 1s");
  }
  if (place.has("backlog")) plan.backlog = place.at("backlog").integer(1, 1'000'000);
}

ClusterPlan load_cluster(const Place& place, NodeNames& names, Duration time_limit) {
  place.object({"nodes", "groups", "store_host", "store_name", "network", "store", "worker_pool"});
  ClusterPlan plan;
  for (const Place& item : place.at("nodes").items())
    load_node(item, names, time_limit, plan.nodes);
  if (plan.nodes.empty()) place.at("nodes").refuse_value("at least one node");
  if (place.has("groups")) {
    for (const auto& [name, members] : place.at("groups").members()) {
      names.declare_group(members, name, names.select_all(members, NodeNames::Roles::refused));
    }
  }
  plan.store_host = plan.nodes.front().id;
  if (place.has("store_host")) {
    const Place host = place.at("store_host");
    plan.store_host = host.text();
    if (plan.store_host == kExternalStore) {
      plan.store_host.clear();
    } else if (!names.contains(plan.store_host)) {
      names.refuse(host, "a node of the cluster or \"external\"", plan.store_host);
    }
  }
  if (place.has("store_name")) plan.store_name = host_name(place.at("store_name"));
  if (place.has("network")) load_network(place.at("network"), plan);
  if (place.has("worker_pool")) {
    const Place pool = place.at("worker_pool");
    pool.object({"slots"});
    plan.pool_slots = pool.at("slots").integer(1, kWorkersPerNodeMax);
  }
  if (place.has("store")) load_store(place.at("store"), plan);
  return plan;
}

}  // namespace hooke::scenario
