// The whole of a scenario; its large parts have loaders of their own.
#include "scenarios/format/loader.h"

#include "scenarios/format/cluster_loader.h"
#include "scenarios/format/expectation_loader.h"
#include "scenarios/format/key_places.h"
#include "scenarios/format/protocol_loader.h"
#include "scenarios/format/timeline_loader.h"
#include "scenarios/format/workers_loader.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kVersionMax = 1'000'000'000;

class Loader {
 public:
  Loader(const Place& top, const model::Plugins& plugins) : top_(top), plugins_(plugins) {}
  Scenario load();

 private:
  void protocol(const Place& place);
  void mixture(const Place& nodes);
  [[nodiscard]] TimelineNames timeline_names() const;
  void timeline(const Place& place);
  void core(const Place& place);
  void schedule(const Place& place);
  void tape(const Place& place);

  const Place& top_;
  const model::Plugins& plugins_;
  Scenario scenario_;
  NodeNames names_;
};

void Loader::protocol(const Place& place) {
  scenario_.protocol = load_protocol(place, plugins_);
  if (scenario_.protocol.rendezvous.backend.starts_with("etcd") &&
      !scenario_.cluster.store_host.empty()) {
    place.at("rendezvous").at("backend").refuse_value("c10d, or an external cluster/store_host");
  }
}

/// Agents that cannot read each other's state are no job.
void Loader::mixture(const Place& nodes) {
  const model::Variant usual = scenario_.protocol.variant;
  for (const Place& node : nodes.items()) {
    if (!node.has("variant")) continue;
    const Place own = node.at("variant");
    if (!model::share_a_job(usual, load_variant(own))) {
      own.refuse_value("a variant whose agents understand those of /protocol/variant, which are " +
                       std::string(to_string(usual)));
    }
  }
}

TimelineNames Loader::timeline_names() const {
  return {names_,
          scenario_.workers.per_node,
          scenario_.cluster.store_host.empty(),
          scenario_.protocol.rendezvous.backend.starts_with("etcd"),
          scenario_.time_limit,
          plugins_};
}

void Loader::timeline(const Place& place) {
  const TimelineNames names = timeline_names();
  std::size_t selected = 0;
  for (const Place& item : place.items()) {
    scenario_.timeline.push_back(load_timeline_entry(item, names));
    const TimelineEntry& entry = scenario_.timeline.back();
    selected += entry.from.size() + entry.to.size();
    if (selected > kSelectedNodesMax) {
      item.refuse("at most " + std::to_string(kSelectedNodesMax) + " nodes in all of the timeline",
                  "more; \"all\" means every node");
    }
  }
}

/// A healing that the run does not live to see would say nothing about the core.
void Loader::core(const Place& place) {
  place.object({"at", "nodes"});
  CorePlan plan;
  const Place at = place.at("at");
  plan.at = at.duration();
  if (plan.at >= scenario_.time_limit) at.refuse_value("a time before the time_limit");
  plan.nodes = names_.select_all(place.at("nodes"), NodeNames::Roles::refused);
  scenario_.core = std::move(plan);
}

void Loader::tape(const Place& place) {
  kernel::Tape tape;
  for (const Place& item : place.items()) {
    item.object({"purpose", "owner", "part", "occurrence", "value"});
    tape.push_back({item.at("purpose").text(), item.at("owner").unsigned_integer(),
                    item.at("part").unsigned_integer(), item.at("occurrence").unsigned_integer(),
                    item.at("value").unsigned_integer()});
  }
  scenario_.tape = std::move(tape);
}

void Loader::schedule(const Place& place) {
  place.object({"strategy", "depth"});
  const std::string name = place.at("strategy").text();
  const auto strategy = kernel::strategy_from(name);
  if (!strategy) {
    place.at("strategy").refuse_word("a scheduling strategy", name, kernel::strategy_names());
  }
  scenario_.schedule.strategy = *strategy;
  if (place.has("depth")) {
    scenario_.schedule.depth = place.at("depth").integer(0, kernel::Schedule::kDepthMax);
  }
}

Scenario Loader::load() {
  top_.object({"$schema", "version", "name", "description", "references", "seed", "schedule",
               "canary", "time_limit", "protocol", "cluster", "workers", "timeline", "core",
               "expect", "tape"});
  if (top_.at("version").integer(0, kVersionMax) != 1) top_.at("version").refuse_value("1");
  scenario_.name = top_.at("name").shown_text();
  if (scenario_.name.empty() || scenario_.name.find_first_of("\t\n\r") != std::string::npos) {
    top_.at("name").refuse_value("a name on one line");
  }
  if (top_.has("description")) scenario_.description = top_.at("description").shown_text();
  if (top_.has("references")) {
    for (const Place& item : top_.at("references").items())
      scenario_.references.push_back(item.shown_text());
  }
  if (top_.has("seed")) scenario_.seed = top_.at("seed").unsigned_integer();
  if (top_.has("schedule")) schedule(top_.at("schedule"));
  if (top_.has("canary")) scenario_.canary = top_.at("canary").truth();
  if (top_.has("time_limit")) {
    scenario_.time_limit = top_.at("time_limit").positive_duration();
  }
  scenario_.cluster = load_cluster(top_.at("cluster"), names_, scenario_.time_limit);
  protocol(top_.at("protocol"));
  mixture(top_.at("cluster").at("nodes"));
  scenario_.workers = load_workers(top_.at("workers"), names_);
  if (top_.has("timeline")) timeline(top_.at("timeline"));
  if (top_.has("core")) core(top_.at("core"));
  if (top_.has("expect")) {
    scenario_.expect = load_expectation(top_.at("expect"), timeline_names());
  }
  if (top_.has("tape")) tape(top_.at("tape"));
  return std::move(scenario_);
}

}  // namespace

Scenario load_scenario(std::string_view text, const std::string& source,
                       const model::Plugins& plugins) {
  const nlohmann::ordered_json json = parse_json(text, source);
  const Place top(json, "", source);
  try {
    return Loader(top, plugins).load();
  } catch (const UnknownKey& error) {
    const std::string home = where_it_belongs(error.key(), error.pointer());
    if (home.empty()) throw;
    throw ScenarioError(error.complaint() + home);
  }
}

Scenario load_scenario_file(const std::string& path, const model::Plugins& plugins) {
  return load_scenario(read_file(path), path, plugins);
}

}  // namespace hooke::scenario
