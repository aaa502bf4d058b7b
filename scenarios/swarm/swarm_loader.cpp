#include <algorithm>

#include "model/variant/defects.h"
#include "properties/invariants/invariant.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/protocol_loader.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::hunt {
namespace {

using scenario::Place;

constexpr std::int64_t kSizeMax = 10'000;

void range(const Place& top, const char* key, std::int64_t low, Range& into) {
  if (!top.has(key)) return;
  const Place place = top.at(key);
  const std::vector<Place> ends = place.items();
  if (ends.size() != 2) place.refuse_value("two numbers, the lowest and the highest");
  into.low = ends[0].integer(low, kSizeMax);
  into.high = ends[1].integer(into.low, kSizeMax);
}

/// Calls `act` for each text of the list at `key`, which may not be empty.
template <class Act>
void texts(const Place& top, const char* key, Act act) {
  if (!top.has(key)) return;
  const Place place = top.at(key);
  const std::vector<Place> items = place.items();
  if (items.empty()) place.refuse_value("at least one");
  for (const Place& item : items) act(item, item.text());
}

template <class T>
void clear_for(const Place& top, const char* key, std::vector<T>& list) {
  if (top.has(key)) list.clear();
}

/// A list of names, each of which must be one of `known`.
void names(const Place& top, const char* key, const std::string& what,
           const std::vector<std::string>& known, std::vector<std::string>& into) {
  clear_for(top, key, into);
  texts(top, key, [&](const Place& item, const std::string& name) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      item.refuse_word(what, name, known);
    into.push_back(name);
  });
}

/// A list of parts of agents, each of which every backend of the space can be used with.
void parts(const Place& top, const char* key, model::PluginChoice model::LaunchConfig::*part,
           const std::vector<std::string>& backends, std::vector<std::string>& into) {
  const model::Plugins plugins;
  clear_for(top, key, into);
  texts(top, key, [&](const Place& item, const std::string& text) {
    for (const std::string& backend : backends) {
      const std::string reason = scenario::refusal_of(text, part, backend, plugins);
      if (!reason.empty())
        item.refuse_value("what agents of each backend of the space can be made with (" + reason +
                          ")");
    }
    into.push_back(text);
  });
}

/// A list of patterns, each of which must match one of `known`.
void patterns(const Place& top, const char* key, const std::string& what,
              const std::vector<std::string>& known, std::vector<std::string>& into) {
  clear_for(top, key, into);
  texts(top, key, [&](const Place& item, const std::string& pattern) {
    const bool matches = std::any_of(known.begin(), known.end(), [&](const std::string& name) {
      return properties::matches(pattern, name);
    });
    if (!matches) item.refuse_word(what, pattern, known);
    into.push_back(pattern);
  });
}

}  // namespace

Swarm load_swarm(std::string_view text, const std::string& source) {
  const nlohmann::ordered_json json = scenario::parse_json(text, source);
  const Place top(json, "", source);
  top.object({"version", "variants", "mixed", "defects", "backends", "restart_policies",
              "process_launchers", "shutdowns", "nodes", "spare_seats", "surplus_nodes",
              "workers_per_node", "max_restarts", "faults", "words", "fault_points", "strategies",
              "cores", "time_limit"});
  if (top.at("version").integer(0, kSizeMax) != 1) top.at("version").refuse_value("1");
  Swarm swarm;
  clear_for(top, "variants", swarm.variants);
  texts(top, "variants", [&](const Place& item, const std::string&) {
    swarm.variants.push_back(scenario::load_variant(item));
  });
  if (top.has("mixed")) swarm.mixed = top.at("mixed").truth();
  if (swarm.mixed) {
    for (const model::Variant other : swarm.variants) {
      if (!model::share_a_job(swarm.variants.front(), other))
        top.at("mixed").refuse_value("false, or variants that can be in one job");
    }
  }
  std::vector<std::string> defects;
  for (const model::Defect& defect : model::kDefects) defects.emplace_back(defect.name);
  names(top, "defects", "a known defect", defects, swarm.defects);
  names(top, "backends", "a rendezvous backend",
        {"c10d", "static", "file", "etcd", "etcd-v2", "etcd-v3"}, swarm.backends);
  using model::LaunchConfig;
  parts(top, "restart_policies", &LaunchConfig::restart_policy, swarm.backends,
        swarm.restart_policies);
  parts(top, "process_launchers", &LaunchConfig::process_launcher, swarm.backends,
        swarm.process_launchers);
  parts(top, "shutdowns", &LaunchConfig::shutdown, swarm.backends, swarm.shutdowns);
  range(top, "nodes", 1, swarm.nodes);
  range(top, "spare_seats", 0, swarm.spare_seats);
  range(top, "surplus_nodes", 0, swarm.surplus_nodes);
  range(top, "workers_per_node", 1, swarm.workers_per_node);
  range(top, "max_restarts", 0, swarm.max_restarts);
  range(top, "faults", 0, swarm.faults);
  std::vector<std::string> words;
  for (const scenario::Word& word : scenario::vocabulary()) words.emplace_back(word.name);
  patterns(top, "words", "a fault or a pattern such as \"net.*\"", words, swarm.words);
  const auto points = scenario::fault_points();
  patterns(top, "fault_points", "a fault point or a pattern such as \"agent.*\"",
           {points.begin(), points.end()}, swarm.fault_points);
  clear_for(top, "strategies", swarm.strategies);
  texts(top, "strategies", [&](const Place& item, const std::string& name) {
    const auto strategy = kernel::strategy_from(name);
    if (!strategy) {
      item.refuse_word("a scheduling strategy", name, kernel::strategy_names());
    }
    swarm.strategies.push_back(*strategy);
  });
  if (top.has("cores")) swarm.cores = top.at("cores").truth();
  if (top.has("time_limit")) swarm.time_limit = top.at("time_limit").positive_duration();
  return swarm;
}

}  // namespace hooke::hunt
