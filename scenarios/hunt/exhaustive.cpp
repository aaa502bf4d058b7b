#include "scenarios/hunt/exhaustive.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "model/store/wire.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/hunt/explorer.h"
#include "sim/port/fnv1a.h"
#include "sim/world/machine.h"
#include "sim/world/request_order.h"
#include "sim/world/world_events.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using scenario::Scenario;
using scenario::TimelineEntry;

/// Longer than a keep-alive notices, shorter than a job waits.
constexpr sim::Duration kPartition = 20s;
/// By then a quiet network has brought the answer.
constexpr sim::Duration kAnswered = 5ms;

/// A request as the trace tells of it.
struct Arrival {
  std::string client;
  std::string machine;  ///< of the service
  std::int64_t port = 0;
  std::uint64_t number = 0;  ///< among those of its client to the machine of the service
  std::int64_t passage = 0;  ///< among all of its client
  StoreRequest request;
};

/// Writes down the requests of a run in the order of their arrival.
class ArrivalLog final : public kernel::TraceSink {
 public:
  explicit ArrivalLog(const Scenario& scenario) {
    for (const scenario::NodePlan& node : scenario.cluster.nodes) names_.push_back(node.id);
    names_.emplace_back("store");
  }
  void on_event(const sim::Event& event) override {
    if (event.type != &world::events::request_arrived) return;
    const std::string& client = names_.at(event.node.value);
    arrivals.push_back({client, std::string(event.field("to").text()), event.field("port").number(),
                        static_cast<std::uint64_t>(event.field("number").number()),
                        ++passages_[client], read_request(event.field("bytes").text())});
  }
  std::vector<Arrival> arrivals;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> passages_;
};

bool commute(const Arrival& a, const Arrival& b) {
  const bool same_service = a.machine == b.machine && a.port == b.port;
  return a.client != b.client && (!same_service || commute(a.request, b.request));
}

/// The class of a run: requests as they stand in the layers of their dependencies (Foata's normal
/// form), each layer sorted, so that orders which differ only in what commutes are equal.
std::uint64_t class_of(const Branch& branch, const std::vector<Arrival>& arrivals) {
  std::vector<std::size_t> layers(arrivals.size(), 0);
  std::map<std::size_t, std::set<std::pair<std::string, std::int64_t>>> normal;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    for (std::size_t j = i; j-- > 0;) {
      if (layers[j] < layers[i] || commute(arrivals[j], arrivals[i])) continue;
      layers[i] = layers[j] + 1;
    }
    normal[layers[i]].emplace(arrivals[i].client, arrivals[i].passage);
  }
  sim::Fnv1a digest;
  for (const Deviation& deviation : branch) {  // requests alone do not tell which dies when
    if (deviation.kind == Deviation::Kind::hold) continue;
    digest.number(static_cast<std::uint64_t>(deviation.kind));
    digest.text(deviation.client).byte(0);
    digest.number(static_cast<std::uint64_t>(deviation.passage));
  }
  for (const auto& [layer, requests] : normal) {
    digest.number(layer);
    for (const auto& [client, passage] : requests) {
      digest.text(client).byte(0);
      digest.number(static_cast<std::uint64_t>(passage));
    }
  }
  return digest.value();
}

/// Behind how many requests of others the one at `held` can go so that it changes places with one
/// that does not commute with it.
std::vector<std::uint64_t> places(const std::vector<Arrival>& arrivals, std::size_t held) {
  std::vector<std::uint64_t> out;
  std::uint64_t passed = 0;
  for (std::size_t i = held + 1; i < arrivals.size() && passed < world::kHeldBehindMax; ++i) {
    const Arrival& other = arrivals[i];
    if (other.machine != arrivals[held].machine || other.port != arrivals[held].port) continue;
    if (other.client == arrivals[held].client) break;  // it waits for the answer
    ++passed;
    if (!commute(arrivals[held], other)) out.push_back(passed);
  }
  return out;
}

std::vector<Deviation> deviate(const Branch& branch, const Bounds& bounds,
                               const std::vector<Arrival>& arrivals) {
  using Kind = Deviation::Kind;
  std::vector<Deviation> out;
  const auto may = [&](Kind kind, std::int64_t bound) {
    return std::count_if(branch.begin(), branch.end(),
                         [&](const Deviation& each) { return each.kind == kind; }) < bound;
  };
  for (std::size_t i = branch.empty() ? 0 : branch.back().place + 1; i < arrivals.size(); ++i) {
    const Arrival& arrival = arrivals[i];
    const Deviation here{
        Kind::hold, arrival.client, arrival.machine, arrival.number, arrival.passage, 0, i};
    for (const std::uint64_t behind : places(arrivals, i)) {
      out.push_back(here);
      out.back().behind = behind;
    }
    if (!arrival.request.writes) continue;
    for (const auto& [kind, bound] :
         {std::pair{Kind::crash, bounds.crashes}, std::pair{Kind::partition, bounds.partitions}}) {
      const bool possible = kind == Kind::crash || arrival.client != arrival.machine;
      if (!possible || !may(kind, bound)) continue;
      out.push_back(here);
      out.back().kind = kind;
    }
  }
  return out;
}

}  // namespace

StoreRequest read_request(std::string_view hex) {
  constexpr std::array kReads{model::Query::validate, model::Query::get,
                              model::Query::check,    model::Query::wait,
                              model::Query::ping,     model::Query::get_num_keys};
  const auto byte_at = [&](std::size_t index) -> std::optional<std::uint64_t> {
    if (2 * index + 1 >= hex.size()) return std::nullopt;
    const std::string_view digits = "0123456789abcdef";
    return digits.find(hex[2 * index]) * 16 + digits.find(hex[2 * index + 1]);
  };
  StoreRequest out;
  const auto query = byte_at(0);
  if (!query) return out;
  const auto is_read = [&](model::Query read) {
    return static_cast<std::uint64_t>(read) == *query;
  };
  out.writes = std::none_of(kReads.begin(), kReads.end(), is_read);
  // CHECK and WAIT name several keys, after their number.
  const bool several = is_read(model::Query::check) || is_read(model::Query::wait);
  const std::size_t length_at = several ? 9 : 1;
  const std::uint64_t length = byte_at(length_at).value_or(0);
  for (std::uint64_t i = 0; i < length; ++i) {
    const auto c = byte_at(length_at + 8 + i);
    if (!c) break;
    out.key += static_cast<char>(*c);
  }
  return out;
}

bool commute(const StoreRequest& a, const StoreRequest& b) {
  if (!a.writes && !b.writes) return true;
  return !a.key.empty() && !b.key.empty() && a.key != b.key;
}

Scenario world_of(const Scenario& root, const Branch& branch) {
  Scenario world = root;
  world.schedule = kernel::Strategy::holds;
  world.expect = {};
  if (!world.tape) world.tape.emplace();
  for (const Deviation& deviation : branch) {
    if (deviation.kind == Deviation::Kind::hold) {
      world.tape->push_back(
          {std::string(world::kHoldPurpose), world::Machine::key_of(deviation.client),
           world::Machine::key_of(deviation.service), deviation.number, deviation.behind});
      continue;
    }
    const bool part = deviation.kind == Deviation::Kind::partition;
    TimelineEntry entry;
    entry.what = part ? "net.partition" : "agent.kill";
    entry.from = {deviation.client};
    if (part) entry.duration = kPartition;
    entry.trigger.event = world::events::request_arrived.name;
    entry.trigger.on_node = deviation.client;
    entry.trigger.passage = deviation.passage;
    entry.trigger.after = kAnswered;
    world.timeline.push_back(std::move(entry));
  }
  return world;
}

Leaf play(kernel::Kernel& kernel, const Scenario& root, const Branch& branch, const Bounds& bounds,
          const properties::InvariantRegistry& invariants) {
  const Scenario world = world_of(root, branch);
  ArrivalLog log(world);
  scenario::RunOptions options = hunting_options(false);
  options.sinks.push_back(&log);
  Leaf leaf;
  leaf.result = result_of(scenario::run(kernel, world, options, invariants), 0);
  leaf.order = class_of(branch, log.arrivals);
  if (static_cast<std::int64_t>(branch.size()) < bounds.deviations)
    leaf.next = deviate(branch, bounds, log.arrivals);
  return leaf;
}

std::string write_leaf(const Leaf& leaf) {
  nlohmann::ordered_json out{{"result", nlohmann::ordered_json::parse(write_world(leaf.result))},
                             {"order", leaf.order},
                             {"next", nlohmann::ordered_json::array()}};
  for (const Deviation& next : leaf.next) {
    out["next"].push_back({{"kind", static_cast<int>(next.kind)},
                           {"client", next.client},
                           {"service", next.service},
                           {"number", next.number},
                           {"passage", next.passage},
                           {"behind", next.behind},
                           {"place", next.place}});
  }
  return out.dump();
}

Leaf load_leaf(std::string_view line, const std::string& source) {
  const nlohmann::ordered_json json = scenario::parse_json(line, source);
  const scenario::Place top(json, "", source);
  Leaf leaf;
  leaf.result = load_world(top.at("result").json().dump(), source);
  leaf.order = top.at("order").unsigned_integer();
  for (const scenario::Place& item : top.at("next").items()) {
    leaf.next.push_back(
        {static_cast<Deviation::Kind>(item.at("kind").integer(0, 2)), item.at("client").text(),
         item.at("service").text(), item.at("number").unsigned_integer(),
         item.at("passage").integer(1, INT64_MAX), item.at("behind").unsigned_integer(),
         item.at("place").unsigned_integer()});
  }
  return leaf;
}

}  // namespace hooke::hunt
