// One function per object of the format, in the order of the format.
#include "scenarios/format/loader.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "properties/invariants/invariant.h"
#include "scenarios/format/duration.h"
#include "scenarios/format/protocol_loader.h"
#include "scenarios/format/timeline_loader.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kWorkersPerNodeMax = 1'024;
constexpr std::int64_t kManyMax = 1'000'000'000;
const std::vector<std::string> kOutcomes{"succeeded", "failed", "signalled", "graceful_exit",
                                         "error",     "killed", "crashed",   "running"};

class Loader {
 public:
  Loader(const Place& top, const model::Plugins& plugins) : top_(top), plugins_(plugins) {}
  Scenario load();

 private:
  void protocol(const Place& place);
  void cluster(const Place& place);
  void node(const Place& place);
  void mixture(const Place& nodes);
  void network(const Place& place);
  void workers(const Place& place);
  WorkerProgram program(const Place& place);
  WorkerStep step(const Place& place);
  void override_program(const std::string& key, const Place& place);
  [[nodiscard]] TimelineNames timeline_names() const;
  void timeline(const Place& place);
  void core(const Place& place);
  void expectation(const Place& place);
  void schedule(const Place& place);
  void tape(const Place& place);

  void each_node(const Place& place, const std::function<void(const std::string&, const Place&)>&);
  void pattern(const Place& place, std::vector<std::string>& into);

  const Place& top_;
  const model::Plugins& plugins_;
  Scenario scenario_;
  NodeNames names_;
};

// ---- protocol ----------------------------------------------------------------------------------

void Loader::protocol(const Place& place) {
  scenario_.protocol = load_protocol(place, plugins_);
  if (scenario_.protocol.rendezvous.backend.starts_with("etcd") &&
      !scenario_.cluster.store_host.empty()) {
    place.at("rendezvous").at("backend").refuse_value("c10d, or an external cluster/store_host");
  }
}

// ---- cluster -----------------------------------------------------------------------------------

void Loader::node(const Place& place) {
  place.object({"id", "start", "clock", "variant"});
  NodePlan plan;
  if (place.has("start")) {
    const Place start = place.at("start");
    if (start.json() == "never") {
      plan.start.reset();
    } else {
      plan.start = start.duration();
    }
  }
  if (place.has("clock")) {
    const Place clock = place.at("clock");
    clock.object({"skew", "drift_ppm"});
    if (clock.has("skew")) plan.clock_skew = clock.at("skew").signed_duration();
    if (clock.has("drift_ppm"))
      plan.clock_drift_ppm = clock.at("drift_ppm").integer(-100'000, 100'000);
  }
  if (place.has("variant")) plan.variant = load_variant(place.at("variant"));
  for (const std::string& id : names_.declare(place.at("id"))) {
    plan.id = id;
    scenario_.cluster.nodes.push_back(plan);
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

void Loader::network(const Place& place) {
  place.object({"latency", "bandwidth"});
  ClusterPlan& plan = scenario_.cluster;
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

void Loader::cluster(const Place& place) {
  place.object({"nodes", "store_host", "store_name", "network", "store", "worker_pool"});
  for (const Place& item : place.at("nodes").items()) node(item);
  ClusterPlan& plan = scenario_.cluster;
  if (plan.nodes.empty()) place.at("nodes").refuse_value("at least one node");
  plan.store_host = plan.nodes.front().id;
  if (place.has("store_host")) {
    const Place host = place.at("store_host");
    plan.store_host = host.text();
    if (plan.store_host == kExternalStore) {
      plan.store_host.clear();
    } else if (!names_.contains(plan.store_host)) {
      names_.refuse(host, "a node of the cluster or \"external\"", plan.store_host);
    }
  }
  if (place.has("store_name")) plan.store_name = host_name(place.at("store_name"));
  if (place.has("network")) network(place.at("network"));
  if (place.has("worker_pool")) {
    const Place pool = place.at("worker_pool");
    pool.object({"slots"});
    plan.pool_slots = pool.at("slots").integer(1, kWorkersPerNodeMax);
  }
  if (place.has("store")) {
    const Place store = place.at("store");
    store.object({"service_time", "service_time_per_byte", "backlog"});
    if (store.has("service_time")) plan.service_time = store.at("service_time").duration();
    if (store.has("service_time_per_byte")) {
      const Place per_byte = store.at("service_time_per_byte");
      plan.service_time_per_byte = per_byte.duration();
      if (plan.service_time_per_byte > 1s) per_byte.refuse_value("a duration of at most 1s");
    }
    if (store.has("backlog")) plan.backlog = store.at("backlog").integer(1, 1'000'000);
  }
}

// ---- workers -----------------------------------------------------------------------------------

WorkerStep Loader::step(const Place& place) {
  const std::vector<std::string> kinds{"run",        "exit",    "signal",  "hang",     "init",
                                       "collective", "acquire", "release", "scribble", "hold_timer",
                                       "beat",       "destroy", "raise",   "await"};
  std::vector<std::string> keys = kinds;
  keys.insert(keys.end(), {"work", "after", "by"});
  place.object(keys);
  WorkerStep step;
  int found = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!place.has(kinds[i])) continue;
    ++found;
    step.kind = static_cast<WorkerStep::Kind>(i);
    const Place value = place.at(kinds[i]);
    switch (step.kind) {
      case WorkerStep::Kind::run: step.span = value.duration(); break;
      case WorkerStep::Kind::exit: step.code = value.integer(0, 255); break;
      case WorkerStep::Kind::signal: {
        const auto signal = signal_named(value.text());
        if (!signal) value.refuse_value("a signal such as \"SIGKILL\"");
        step.code = static_cast<int>(*signal);
        break;
      }
      case WorkerStep::Kind::hang:
      case WorkerStep::Kind::init:
        if (!value.truth()) value.refuse_value("true");
        break;
      case WorkerStep::Kind::collective: step.count = value.integer(1, kManyMax); break;
      case WorkerStep::Kind::acquire:
        step.text = value.text();
        step.span = place.at("after").duration();
        step.code = static_cast<int>(sim::Signal::kill);
        break;
      case WorkerStep::Kind::release:
      case WorkerStep::Kind::scribble: step.text = value.text(); break;
      case WorkerStep::Kind::hold_timer: step.span = value.duration(); break;
      case WorkerStep::Kind::beat: {
        step.text = value.text();
        const std::vector<std::string> words{"start", "pause", "stop"};
        if (std::find(words.begin(), words.end(), step.text) == words.end()) {
          value.refuse_word("a step of heartbeats", step.text, words);
        }
        break;
      }
      case WorkerStep::Kind::destroy: {
        step.text = value.text();
        const std::vector<std::string> words{"all", "process group", "heartbeats", "timers"};
        if (std::find(words.begin(), words.end(), step.text) == words.end()) {
          value.refuse_word("what a worker holds", step.text, words);
        }
        break;
      }
      case WorkerStep::Kind::raise:
      case WorkerStep::Kind::await:
        step.text = value.text();
        if (step.text.empty()) value.refuse_value("a name");
        break;
    }
  }
  if (found != 1) {
    place.refuse_value(
        "exactly one of run, exit, signal, hang, init, collective, acquire, release, scribble, "
        "hold_timer, beat, destroy, raise, await");
  }
  if (place.has("work")) {
    if (step.kind != WorkerStep::Kind::collective)
      place.at("work").refuse_value("no work but for a collective");
    step.span = place.at("work").duration();
  }
  for (const char* key : {"after", "by"}) {
    if (place.has(key) && step.kind != WorkerStep::Kind::acquire)
      place.at(key).refuse_value("nothing but for an acquire");
  }
  if (place.has("by")) {
    const auto signal = signal_named(place.at("by").text());
    if (!signal) place.at("by").refuse_value("a signal such as \"SIGTERM\"");
    step.code = static_cast<int>(*signal);
  }
  return step;
}

WorkerProgram Loader::program(const Place& place) {
  WorkerProgram out;
  for (const Place& item : place.items()) out.push_back(step(item));
  return out;
}

void Loader::workers(const Place& place) {
  place.object({"per_node", "program", "peer_abort", "slow_stop", "overrides"});
  WorkersPlan& plan = scenario_.workers;
  if (place.has("per_node")) plan.per_node = place.at("per_node").integer(1, kWorkersPerNodeMax);
  plan.program = program(place.at("program"));
  if (place.has("peer_abort")) {
    const Place abort = place.at("peer_abort");
    if (abort.json() == "never") {
      plan.peer_abort.reset();
    } else {
      plan.peer_abort = abort.duration();
    }
  }
  if (place.has("slow_stop")) plan.slow_stop = place.at("slow_stop").duration();
  if (!place.has("overrides")) return;
  for (const auto& [key, value] : place.at("overrides").members()) override_program(key, value);
}

/// Keys are "node" and "node/local_rank", each also with "/*" behind it.
void Loader::override_program(const std::string& key, const Place& place) {
  std::string_view rest = key;
  if (rest.ends_with("/*")) rest.remove_suffix(2);
  const std::size_t slash = rest.find('/');
  const std::string id(rest.substr(0, slash));
  if (!names_.contains(id)) names_.refuse(place, "a node of the cluster before the slash", id);
  if (slash != std::string_view::npos) {
    const std::string_view rank = rest.substr(slash + 1);
    std::int64_t number = -1;
    const auto end = std::from_chars(rank.data(), rank.data() + rank.size(), number);
    const bool known = end.ec == std::errc() && number >= 0 &&
                       number < scenario_.workers.per_node && std::to_string(number) == rank;
    if (!known) {
      place.refuse("a key \"node\", \"node/local_rank\" or one of them with \"/*\"",
                   "\"" + key + "\"");
    }
  }
  scenario_.workers.overrides[key] = program(place);
}

// ---- timeline and expectations -----------------------------------------------------------------

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

void Loader::pattern(const Place& place, std::vector<std::string>& into) {
  static const std::vector<std::string> kIds = properties::InvariantRegistry::with_builtins().ids();
  for (const Place& item : place.items()) {
    const std::string text = item.text();
    const bool known = std::any_of(kIds.begin(), kIds.end(), [&](const std::string& id) {
      return properties::matches(text, id);
    });
    if (!known) item.refuse_word("an invariant or a pattern such as \"safety.*\"", text, kIds);
    into.push_back(text);
  }
}

/// Calls `act` for the nodes that each key of `place` selects, in the order of the keys.
void Loader::each_node(const Place& place,
                       const std::function<void(const std::string&, const Place&)>& act) {
  std::set<std::string> seen;
  for (const auto& [key, value] : place.members()) {
    std::vector<std::string> ids = expand_range(key);
    if (ids.empty()) ids = {key};
    for (const std::string& id : ids) {
      if (!names_.contains(id)) names_.refuse(value, "a node of the cluster as key", id);
      if (!seen.insert(id).second) value.refuse("each node once", "\"" + id + "\" a second time");
      act(id, value);
    }
  }
}

void Loader::expectation(const Place& place) {
  place.object({"outcome", "exit_code", "rounds", "within", "holds", "violates", "marks", "events",
                "never"});
  Expectation& expect = scenario_.expect;
  if (place.has("outcome")) {
    each_node(place.at("outcome"), [&](const std::string& id, const Place& value) {
      const std::string outcome = value.text();
      if (std::find(kOutcomes.begin(), kOutcomes.end(), outcome) == kOutcomes.end()) {
        value.refuse_word("an outcome", outcome, kOutcomes);
      }
      expect.outcome[id] = outcome;
    });
  }
  if (place.has("exit_code")) {
    each_node(place.at("exit_code"), [&](const std::string& id, const Place& value) {
      expect.exit_code[id] = value.integer(-64, 255);
    });
  }
  if (place.has("rounds")) {
    const Place rounds = place.at("rounds");
    rounds.object({"min", "max"});
    if (rounds.has("min")) expect.rounds_min = rounds.at("min").integer(0, kManyMax);
    if (rounds.has("max")) expect.rounds_max = rounds.at("max").integer(0, kManyMax);
    if (expect.rounds_min && expect.rounds_max && *expect.rounds_max < *expect.rounds_min) {
      rounds.at("max").refuse_value("at least min (" + std::to_string(*expect.rounds_min) + ")");
    }
  }
  if (place.has("within")) expect.within = place.at("within").duration();
  if (place.has("holds")) pattern(place.at("holds"), expect.holds);
  if (place.has("violates")) pattern(place.at("violates"), expect.violates);
  if (place.has("marks")) {
    for (const Place& item : place.at("marks").items()) {
      expect.marks.push_back(load_mark(item, plugins_));
    }
  }
  if (place.has("events")) {
    for (const Place& item : place.at("events").items()) {
      expect.events.push_back(load_event_pattern(item, timeline_names()));
    }
  }
  if (place.has("never")) {
    for (const Place& item : place.at("never").items()) {
      if (item.has("passage"))
        item.at("passage").refuse("no \"passage\" of what never happens", "one");
      expect.never.push_back(load_event_pattern(item, timeline_names()));
    }
  }
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
  if (top_.at("version").integer(0, kManyMax) != 1) top_.at("version").refuse_value("1");
  scenario_.name = top_.at("name").text();
  if (scenario_.name.empty()) top_.at("name").refuse_value("a name");
  if (top_.has("description")) scenario_.description = top_.at("description").text();
  if (top_.has("references")) {
    for (const Place& item : top_.at("references").items())
      scenario_.references.push_back(item.text());
  }
  if (top_.has("seed")) scenario_.seed = top_.at("seed").unsigned_integer();
  if (top_.has("schedule")) schedule(top_.at("schedule"));
  if (top_.has("canary")) scenario_.canary = top_.at("canary").truth();
  if (top_.has("time_limit")) {
    scenario_.time_limit = top_.at("time_limit").positive_duration();
  }
  cluster(top_.at("cluster"));
  protocol(top_.at("protocol"));
  mixture(top_.at("cluster").at("nodes"));
  workers(top_.at("workers"));
  if (top_.has("timeline")) timeline(top_.at("timeline"));
  if (top_.has("core")) core(top_.at("core"));
  if (top_.has("expect")) expectation(top_.at("expect"));
  if (top_.has("tape")) tape(top_.at("tape"));
  return std::move(scenario_);
}

}  // namespace

Scenario load_scenario(std::string_view text, const std::string& source,
                       const model::Plugins& plugins) {
  const nlohmann::ordered_json json = parse_json(text, source);
  const Place top(json, "", source);
  return Loader(top, plugins).load();
}

Scenario load_scenario_file(const std::string& path, const model::Plugins& plugins) {
  return load_scenario(read_file(path), path, plugins);
}

}  // namespace hooke::scenario
