// One function per object of the format, in the order of the format.
#include "scenarios/loader.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "model/observe/event_registry.h"
#include "model/variant/defects.h"
#include "properties/invariants/invariant.h"
#include "scenarios/actions.h"
#include "scenarios/vocabulary.h"
#include "sim/world/world_event_registry.h"

namespace hooke::scenario {
namespace {

constexpr std::int64_t kNodesMax = 200'000;
constexpr std::int64_t kWorkersPerNodeMax = 1'024;
constexpr std::int64_t kManyMax = 1'000'000'000;
const std::vector<std::string> kOutcomes{"succeeded", "failed", "signalled", "graceful_exit",
                                         "error",     "killed", "crashed",   "running"};

class Loader {
 public:
  explicit Loader(const Place& top) : top_(top) {}
  Scenario load();

 private:
  void rendezvous(const Place& place);
  void agent(const Place& place);
  void protocol(const Place& place);
  void cluster(const Place& place);
  void node(const Place& place);
  void network(const Place& place);
  void workers(const Place& place);
  WorkerProgram program(const Place& place);
  WorkerStep step(const Place& place);
  TimelineEntry entry(const Place& place);
  Trigger trigger(const Place& place);
  void when(const Place& place, Trigger& trigger);
  void expectation(const Place& place);
  void tape(const Place& place);

  /// Nodes a selector names; roles stay as they are when allowed.
  std::vector<std::string> nodes(const Place& place, bool roles_too);
  std::vector<std::string> node_list(const Place& place, bool roles_too);
  [[nodiscard]] std::vector<std::string> node_ids(bool roles_too) const;
  void pattern(const Place& place, std::vector<std::string>& into);

  const Place& top_;
  Scenario scenario_;
  std::set<std::string> ids_;
};

// ---- nodes
// -----------------------------------------------------------------------------------------

std::vector<std::string> Loader::node_ids(bool roles_too) const {
  std::vector<std::string> out(ids_.begin(), ids_.end());
  if (roles_too) out.insert(out.end(), roles().begin(), roles().end());
  return out;
}

std::vector<std::string> Loader::nodes(const Place& place, bool roles_too) {
  const std::string text = place.text();
  const bool role = std::find(roles().begin(), roles().end(), text) != roles().end();
  if (ids_.contains(text) || (role && roles_too)) return {text};
  std::vector<std::string> range = expand_range(text);
  if (range.empty()) place.refuse_word("a node of the cluster", text, node_ids(roles_too));
  for (const std::string& id : range) {
    if (!ids_.contains(id)) place.refuse_word("nodes of the cluster", id, node_ids(roles_too));
  }
  return range;
}

std::vector<std::string> Loader::node_list(const Place& place, bool roles_too) {
  if (place.json().is_string()) return nodes(place, roles_too);
  std::vector<std::string> out;
  for (const Place& item : place.items()) {
    for (std::string& id : nodes(item, roles_too)) out.push_back(std::move(id));
  }
  if (out.empty()) place.refuse_value("at least one node");
  return out;
}

// ---- protocol
// --------------------------------------------------------------------------------------

void Loader::rendezvous(const Place& place) {
  place.object({"backend", "min_nodes", "max_nodes", "timeouts", "keep_alive", "read_timeout"});
  RendezvousPlan& plan = scenario_.protocol.rendezvous;
  if (place.has("backend")) {
    plan.backend = place.at("backend").text();
    if (plan.backend != "c10d") place.at("backend").refuse_word("\"c10d\"", plan.backend, {"c10d"});
  }
  plan.min_nodes = place.at("min_nodes").integer(1, kNodesMax);
  plan.max_nodes = place.at("max_nodes").integer(1, kNodesMax);
  if (plan.max_nodes < plan.min_nodes) {
    place.at("max_nodes")
        .refuse_value("at least min_nodes (" + std::to_string(plan.min_nodes) + ")");
  }
  const auto positive = [](const Place& at, Duration& into) {
    into = at.duration();
    if (into == Duration::zero()) at.refuse_value("a duration above 0");
  };
  if (place.has("timeouts")) {
    const Place timeouts = place.at("timeouts");
    timeouts.object({"join", "last_call", "close", "heartbeat"});
    if (timeouts.has("join")) positive(timeouts.at("join"), plan.join);
    if (timeouts.has("last_call")) positive(timeouts.at("last_call"), plan.last_call);
    if (timeouts.has("close")) positive(timeouts.at("close"), plan.close);
    if (timeouts.has("heartbeat")) positive(timeouts.at("heartbeat"), plan.heartbeat);
  }
  if (place.has("keep_alive")) {
    const Place keep_alive = place.at("keep_alive");
    keep_alive.object({"interval", "max_attempts"});
    if (keep_alive.has("interval")) positive(keep_alive.at("interval"), plan.keep_alive_interval);
    if (keep_alive.has("max_attempts")) {
      plan.keep_alive_max_attempts = keep_alive.at("max_attempts").integer(1, 1'000'000);
    }
  }
  if (place.has("read_timeout")) positive(place.at("read_timeout"), plan.read_timeout);
}

void Loader::agent(const Place& place) {
  place.object({"max_restarts", "monitor_interval", "exit_barrier_timeout", "shutdown_timeout", "environment"});
  AgentPlan& plan = scenario_.protocol.agent;
  if (place.has("max_restarts")) plan.max_restarts = place.at("max_restarts").integer(0, kManyMax);
  if (place.has("monitor_interval")) {
    plan.monitor_interval = place.at("monitor_interval").duration();
    if (plan.monitor_interval < 1ms)
      place.at("monitor_interval").refuse_value("a duration of at least 1ms");
  }
  if (place.has("exit_barrier_timeout"))
    plan.exit_barrier_timeout = place.at("exit_barrier_timeout").duration();
  if (place.has("environment")) {
    for (const auto& [name, value] : place.at("environment").members()) plan.environment[name] = value.text();
  }
  if (place.has("shutdown_timeout"))
    plan.shutdown_timeout = place.at("shutdown_timeout").duration();
}

void Loader::protocol(const Place& place) {
  place.object({"variant", "defects", "rendezvous", "agent"});
  if (place.has("variant")) {
    const std::string name = place.at("variant").text();
    const auto variant = model::variant_from(name);
    if (!variant)
      place.at("variant").refuse_word("a protocol variant", name, {"torch-2.x", "torch-1.13"});
    scenario_.protocol.variant = *variant;
  }
  if (place.has("defects")) {
    std::vector<std::string> known;
    for (const model::Defect& defect : model::kDefects) known.emplace_back(defect.name);
    for (const Place& item : place.at("defects").items()) {
      const std::string name = item.text();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        item.refuse_word("a known defect", name, known);
      }
      scenario_.protocol.defects.push_back(name);
    }
  }
  rendezvous(place.at("rendezvous"));
  if (place.has("agent")) agent(place.at("agent"));
}

// ---- cluster
// ---------------------------------------------------------------------------------------

void Loader::node(const Place& place) {
  place.object({"id", "start", "clock"});
  const Place id_place = place.at("id");
  const std::string id = id_place.text();
  std::vector<std::string> ids = expand_range(id);
  if (ids.empty()) {
    const bool plain =
        !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_';
        });
    if (!plain)
      id_place.refuse_value("a name of letters, digits, - and _, or a range such as \"b..d\"");
    ids = {id};
  }
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
  for (const std::string& each : ids) {
    const bool reserved =
        each == "store" || std::find(roles().begin(), roles().end(), each) != roles().end();
    if (reserved) id_place.refuse("a node name that is no role", "\"" + each + "\"");
    if (!ids_.insert(each).second)
      id_place.refuse("each node once", "\"" + each + "\" a second time");
    plan.id = each;
    scenario_.cluster.nodes.push_back(plan);
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
  place.object({"nodes", "store_host", "network", "store"});
  for (const Place& item : place.at("nodes").items()) node(item);
  ClusterPlan& plan = scenario_.cluster;
  if (plan.nodes.empty()) place.at("nodes").refuse_value("at least one node");
  if (static_cast<std::int64_t>(plan.nodes.size()) > kNodesMax) {
    place.at("nodes").refuse("at most " + std::to_string(kNodesMax) + " nodes",
                             std::to_string(plan.nodes.size()));
  }
  plan.store_host = plan.nodes.front().id;
  if (place.has("store_host")) {
    const Place host = place.at("store_host");
    plan.store_host = host.text();
    if (plan.store_host == "external") {
      plan.store_host.clear();
    } else if (!ids_.contains(plan.store_host)) {
      std::vector<std::string> known = node_ids(false);
      known.emplace_back("external");
      host.refuse_word("a node of the cluster or \"external\"", plan.store_host, known);
    }
  }
  if (place.has("network")) network(place.at("network"));
  if (place.has("store")) {
    const Place store = place.at("store");
    store.object({"service_time", "service_time_per_byte", "backlog"});
    if (store.has("service_time")) plan.service_time = store.at("service_time").duration();
    if (store.has("service_time_per_byte")) {
      plan.service_time_per_byte = store.at("service_time_per_byte").duration();
    }
    if (store.has("backlog")) plan.backlog = store.at("backlog").integer(1, 1'000'000);
  }
}

// ---- workers
// ---------------------------------------------------------------------------------------

WorkerStep Loader::step(const Place& place) {
  const std::vector<std::string> kinds{"run", "exit", "signal", "hang", "init", "collective"};
  std::vector<std::string> keys = kinds;
  keys.emplace_back("work");
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
    }
  }
  if (found != 1) place.refuse_value("exactly one of run, exit, signal, hang, init, collective");
  if (place.has("work")) {
    if (step.kind != WorkerStep::Kind::collective)
      place.at("work").refuse_value("no work but for a collective");
    step.span = place.at("work").duration();
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
  for (const auto& [key, value] : place.at("overrides").members()) {
    const std::size_t slash = key.find('/');
    const std::string id = key.substr(0, slash);
    if (!ids_.contains(id))
      value.refuse_word("a node of the cluster before the slash", id, node_ids(false));
    const std::string rest = slash == std::string::npos ? "" : key.substr(slash + 1);
    const bool every_incarnation = rest == "*" || rest.ends_with("/*");
    const std::string rank = rest == "*"         ? ""
                             : every_incarnation ? rest.substr(0, rest.size() - 2)
                                                 : rest;
    const bool numeric = rank.size() <= 4 && std::all_of(rank.begin(), rank.end(), [](char c) {
                           return c >= '0' && c <= '9';
                         });
    const bool bare_slash = slash != std::string::npos && rest.empty();
    if (!numeric || bare_slash || (!rank.empty() && std::stoll(rank) >= plan.per_node)) {
      value.refuse("a key \"node\", \"node/local_rank\" or one of them with \"/*\"",
                   "\"" + key + "\"");
    }
    plan.overrides[key] = program(value);
  }
}

// ---- timeline
// --------------------------------------------------------------------------------------

const sim::EventType* find_event(std::string_view name) {
  const sim::EventType* const type = model::find_event_type(name);
  return type != nullptr ? type : world::find_event_type(name);
}

std::vector<std::string> event_names() {
  std::vector<std::string> out;
  for (const sim::EventType* type : model::all_event_types()) out.emplace_back(type->name);
  for (const sim::EventType* type : world::all_event_types()) out.emplace_back(type->name);
  return out;
}

void Loader::when(const Place& place, Trigger& trigger) {
  if (place.has("fault_point")) {
    place.object({"fault_point", "node", "passage"});
    trigger.fault_point = place.at("fault_point").text();
    if (trigger.fault_point->empty())
      place.at("fault_point").refuse_value("a name such as \"agent.joined\"");
  } else {
    const Place event = place.at("event");
    trigger.event = event.text();
    const sim::EventType* const type = find_event(*trigger.event);
    if (type == nullptr) event.refuse_word("a known event", *trigger.event, event_names());
    std::vector<std::string> keys{"event", "node", "passage"};
    for (std::size_t i = 0; i < type->field_count; ++i) keys.emplace_back(type->fields[i]);
    place.object(keys);
    for (const auto& [key, value] : place.members()) {
      if (key == "event" || key == "node" || key == "passage") continue;
      if (value.json().is_string()) {
        trigger.fields[key] = value.text();
      } else {
        trigger.fields[key] = std::to_string(value.integer(INT64_MIN, INT64_MAX));
      }
    }
  }
  if (place.has("node")) {
    const std::string id = place.at("node").text();
    if (!ids_.contains(id))
      place.at("node").refuse_word("a node of the cluster", id, node_ids(false));
    trigger.on_node = id;
  }
  if (place.has("passage")) trigger.passage = place.at("passage").integer(1, kManyMax);
}

Trigger Loader::trigger(const Place& place) {
  Trigger trigger;
  if (place.has("at") == place.has("when")) {
    place.refuse("either \"at\" or \"when\"", place.has("at") ? "both" : "neither");
  }
  if (place.has("at")) {
    trigger.at = place.at("at").duration();
    if (place.has("after")) place.at("after").refuse("no \"after\" beside \"at\"", "one");
  } else {
    when(place.at("when"), trigger);
    if (place.has("after")) trigger.after = place.at("after").duration();
  }
  return trigger;
}

TimelineEntry Loader::entry(const Place& place) {
  const Place what = place.at("do");
  TimelineEntry entry;
  entry.what = what.text();
  const Word* const word = find_word(entry.what);
  if (word == nullptr) {
    std::vector<std::string> words;
    for (const Word& known : vocabulary()) words.emplace_back(known.name);
    what.refuse_word("a known fault", entry.what, words);
  }
  struct Key {
    unsigned parameter;
    const char* name;
  };
  static constexpr Key kKeys[] = {{kNode, "node"},
                                  {kPaths, "from"},
                                  {kPaths, "to"},
                                  {kPaths, "one_way"},
                                  {kLocalRank, "local_rank"},
                                  {kSignal, "signal"},
                                  {kFor, "for"},
                                  {kBy, "by"},
                                  {kAmount, "amount"},
                                  {kText, "text"}};
  std::vector<std::string> keys{"at", "when", "after", "do", "every", "times"};
  for (const Key& key : kKeys) {
    const std::string name = key.name;
    if (((word->required | word->optional) & key.parameter) != 0) keys.push_back(name);
    const bool needed = (word->required & key.parameter) != 0 && name != "to" && name != "one_way";
    if (needed && !place.has(name))
      place.refuse("\"" + name + "\" for \"" + entry.what + "\"", "none");
  }
  place.object(keys);
  entry.trigger = trigger(place);
  if (place.has("node")) entry.from = node_list(place.at("node"), true);
  if (place.has("from")) entry.from = node_list(place.at("from"), true);
  if (place.has("to")) entry.to = node_list(place.at("to"), true);
  if (place.has("one_way")) entry.one_way = place.at("one_way").truth();
  if (place.has("local_rank"))
    entry.local_rank = place.at("local_rank").integer(0, scenario_.workers.per_node - 1);
  if (place.has("signal")) {
    entry.signal = place.at("signal").text();
    if (!signal_named(*entry.signal))
      place.at("signal").refuse_value("a signal such as \"SIGTERM\"");
  }
  if (place.has("for")) entry.duration = place.at("for").duration();
  if (place.has("by"))
    entry.span = word->negative_by ? place.at("by").signed_duration() : place.at("by").duration();
  if (place.has("amount"))
    entry.amount =
        place.at("amount").integer(word->name == "clock.drift" ? -kManyMax : 0, kManyMax * 100);
  if (place.has("text")) entry.text = place.at("text").text();
  if (place.has("times") && !place.has("every"))
    place.at("times").refuse("\"every\" beside \"times\"", "none");
  if (place.has("every")) {
    entry.every = place.at("every").duration();
    if (*entry.every == Duration::zero()) place.at("every").refuse_value("a duration above 0");
    entry.times = place.at("times").integer(1, 1'000'000);
  }
  return entry;
}

// ---- expectations
// ----------------------------------------------------------------------------------

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

void Loader::expectation(const Place& place) {
  place.object({"outcome", "exit_code", "rounds", "within", "holds", "violates", "marks"});
  Expectation& expect = scenario_.expect;
  const auto for_nodes = [&](const std::string& key, const Place& value, auto act) {
    std::vector<std::string> ids = expand_range(key);
    if (ids.empty()) ids = {key};
    for (const std::string& id : ids) {
      if (!ids_.contains(id))
        value.refuse_word("a node of the cluster as key", id, node_ids(false));
      act(id);
    }
  };
  if (place.has("outcome")) {
    for (const auto& [key, value] : place.at("outcome").members()) {
      const std::string outcome = value.text();
      if (std::find(kOutcomes.begin(), kOutcomes.end(), outcome) == kOutcomes.end()) {
        value.refuse_word("an outcome", outcome, kOutcomes);
      }
      for_nodes(key, value, [&](const std::string& id) { expect.outcome[id] = outcome; });
    }
  }
  if (place.has("exit_code")) {
    for (const auto& [key, value] : place.at("exit_code").members()) {
      const std::int64_t code = value.integer(-64, 255);
      for_nodes(key, value, [&](const std::string& id) { expect.exit_code[id] = code; });
    }
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
    for (const Place& item : place.at("marks").items()) expect.marks.push_back(item.text());
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

Scenario Loader::load() {
  top_.object({"$schema", "version", "name", "description", "references", "seed", "canary",
               "time_limit", "protocol", "cluster", "workers", "timeline", "expect", "tape"});
  if (top_.at("version").integer(0, kManyMax) != 1) top_.at("version").refuse_value("1");
  scenario_.name = top_.at("name").text();
  if (scenario_.name.empty()) top_.at("name").refuse_value("a name");
  if (top_.has("description")) scenario_.description = top_.at("description").text();
  if (top_.has("references")) {
    for (const Place& item : top_.at("references").items())
      scenario_.references.push_back(item.text());
  }
  if (top_.has("seed")) scenario_.seed = top_.at("seed").unsigned_integer();
  if (top_.has("canary")) scenario_.canary = top_.at("canary").truth();
  if (top_.has("time_limit")) {
    scenario_.time_limit = top_.at("time_limit").duration();
    if (scenario_.time_limit == Duration::zero())
      top_.at("time_limit").refuse_value("a duration above 0");
  }
  cluster(top_.at("cluster"));
  protocol(top_.at("protocol"));
  workers(top_.at("workers"));
  if (top_.has("timeline")) {
    for (const Place& item : top_.at("timeline").items()) scenario_.timeline.push_back(entry(item));
  }
  if (top_.has("expect")) expectation(top_.at("expect"));
  if (top_.has("tape")) tape(top_.at("tape"));
  return std::move(scenario_);
}

}  // namespace

std::vector<std::string> expand_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return {};
  const std::string first = text.substr(0, dots);
  const std::string last = text.substr(dots + 2);
  if (first.size() == 1 && last.size() == 1 && first <= last) {
    const bool letters = first[0] >= 'a' && last[0] <= 'z';
    std::vector<std::string> out;
    for (char c = first[0]; letters && c <= last[0]; ++c) out.emplace_back(1, c);
    return out;
  }
  const auto split = [](const std::string& id) {
    std::size_t digits = id.size();
    while (digits > 0 && id[digits - 1] >= '0' && id[digits - 1] <= '9') --digits;
    return std::pair(id.substr(0, digits), id.substr(digits));
  };
  const auto [prefix, from] = split(first);
  const auto [other_prefix, to] = split(last);
  if (prefix.empty() || prefix != other_prefix || from.empty() || to.empty() || from.size() > 6 ||
      to.size() > 6) {
    return {};
  }
  std::vector<std::string> out;
  for (long long i = std::stoll(from); i <= std::stoll(to); ++i)
    out.push_back(prefix + std::to_string(i));
  return out;
}

Scenario load_scenario(std::string_view text, const std::string& source) {
  const nlohmann::ordered_json json = parse_json(text, source);
  const Place top(json, "", source);
  return Loader(top).load();
}

Scenario load_scenario_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) throw ScenarioError(path + ": byte 0: expected a readable file, got none");
  std::string text;
  std::string chunk(1 << 16, '\0');
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    text.append(chunk, 0, count);
    if (text.size() > kScenarioBytesMax) break;  // parse_json refuses it by size
  }
  return load_scenario(text, path);
}

}  // namespace hooke::scenario
