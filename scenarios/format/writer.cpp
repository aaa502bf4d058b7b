// One function per object of the format, in the order of the format.
#include "scenarios/format/writer.h"

#include <nlohmann/json.hpp>

#include "scenarios/format/duration.h"
#include "scenarios/format/json_layout.h"
#include "scenarios/format/vocabulary.h"
#include "sim/port/process_host.h"

namespace hooke::scenario {
namespace {

using nlohmann::ordered_json;

template <class T>
void put(ordered_json& into, const char* key, const T& value, const T& usual) {
  if (value != usual) into[key] = value;
}
void put(ordered_json& into, const char* key, Duration value, Duration usual) {
  if (value != usual) into[key] = duration_text(value);
}

ordered_json heartbeats_json(const model::HeartbeatPlan& plan) {
  const model::HeartbeatPlan usual;
  ordered_json out = ordered_json::object();
  put(out, "interval", plan.interval, usual.interval);
  put(out, "deadline", plan.deadline, usual.deadline);
  if (plan.first_beat) out["first_beat"] = duration_text(*plan.first_beat);
  if (plan.policy != usual.policy) out["policy"] = std::string(to_string(plan.policy));
  put(out, "peers", plan.peers, usual.peers);
  return out;
}

ordered_json protocol_json(const ProtocolPlan& plan) {
  const ProtocolPlan usual;
  ordered_json out = ordered_json::object();
  if (plan.variant != usual.variant) out["variant"] = std::string(model::to_string(plan.variant));
  put(out, "defects", plan.defects, usual.defects);
  const RendezvousPlan& rendezvous = plan.rendezvous;
  ordered_json& json = out["rendezvous"] = ordered_json::object();
  put(json, "backend", rendezvous.backend, usual.rendezvous.backend);
  json["min_nodes"] = rendezvous.min_nodes;
  json["max_nodes"] = rendezvous.max_nodes;
  ordered_json timeouts = ordered_json::object();
  put(timeouts, "join", rendezvous.join, usual.rendezvous.join);
  put(timeouts, "last_call", rendezvous.last_call, usual.rendezvous.last_call);
  put(timeouts, "close", rendezvous.close, usual.rendezvous.close);
  put(timeouts, "heartbeat", rendezvous.heartbeat, usual.rendezvous.heartbeat);
  if (!timeouts.empty()) json["timeouts"] = timeouts;
  ordered_json keep_alive = ordered_json::object();
  put(keep_alive, "interval", rendezvous.keep_alive_interval, usual.rendezvous.keep_alive_interval);
  put(keep_alive, "max_attempts", rendezvous.keep_alive_max_attempts,
      usual.rendezvous.keep_alive_max_attempts);
  if (!keep_alive.empty()) json["keep_alive"] = keep_alive;
  put(json, "read_timeout", rendezvous.read_timeout, usual.rendezvous.read_timeout);
  ordered_json agent = ordered_json::object();
  put(agent, "max_restarts", plan.agent.max_restarts, usual.agent.max_restarts);
  put(agent, "restart_policy", plan.agent.restart_policy, usual.agent.restart_policy);
  put(agent, "kind", plan.agent.kind, usual.agent.kind);
  put(agent, "timer", plan.agent.timer, usual.agent.timer);
  put(agent, "process_launcher", plan.agent.process_launcher, usual.agent.process_launcher);
  put(agent, "shutdown", plan.agent.shutdown, usual.agent.shutdown);
  put(agent, "monitor_interval", plan.agent.monitor_interval, usual.agent.monitor_interval);
  put(agent, "exit_barrier_timeout", plan.agent.exit_barrier_timeout,
      usual.agent.exit_barrier_timeout);
  put(agent, "shutdown_timeout", plan.agent.shutdown_timeout, usual.agent.shutdown_timeout);
  if (!plan.agent.environment.empty()) agent["environment"] = plan.agent.environment;
  if (plan.agent.heartbeats) agent["heartbeats"] = heartbeats_json(*plan.agent.heartbeats);
  if (!agent.empty()) out["agent"] = agent;
  return out;
}

/// One name stands for itself.
ordered_json names_json(const std::vector<std::string>& names) {
  return names.size() == 1 ? ordered_json(names.front()) : ordered_json(names);
}

std::string bandwidth_text(std::int64_t bits_per_s) {
  if (bits_per_s % 1'000'000'000 == 0) return std::to_string(bits_per_s / 1'000'000'000) + "Gbps";
  if (bits_per_s % 1'000'000 == 0) return std::to_string(bits_per_s / 1'000'000) + "Mbps";
  if (bits_per_s % 1'000 == 0) return std::to_string(bits_per_s / 1'000) + "kbps";
  return std::to_string(bits_per_s) + "bps";
}

ordered_json cluster_json(const ClusterPlan& plan) {
  const ClusterPlan usual;
  ordered_json out = ordered_json::object();
  out["nodes"] = ordered_json::array();
  for (const NodePlan& node : plan.nodes) {
    ordered_json json{{"id", node.id}};
    if (!node.start) {
      json["start"] = "never";
    } else {
      put(json, "start", *node.start, Duration::zero());
    }
    ordered_json clock = ordered_json::object();
    put(clock, "skew", node.clock_skew, Duration::zero());
    put(clock, "drift_ppm", node.clock_drift_ppm, std::int64_t{0});
    if (!clock.empty()) json["clock"] = clock;
    put(json, "local_addr", node.local_addr, std::string());
    if (node.variant) json["variant"] = std::string(model::to_string(*node.variant));
    out["nodes"].push_back(json);
  }
  if (plan.store_host.empty()) {
    out["store_host"] = "external";
  } else if (plan.store_host != plan.nodes.front().id) {
    out["store_host"] = plan.store_host;
  }
  put(out, "store_name", plan.store_name, usual.store_name);
  ordered_json network = ordered_json::object();
  if (plan.latency_median != usual.latency_median || plan.latency_p99 != usual.latency_p99) {
    network["latency"] = {{"median", duration_text(plan.latency_median)},
                          {"p99", duration_text(plan.latency_p99)}};
  }
  if (plan.bandwidth_bits_per_s != usual.bandwidth_bits_per_s) {
    network["bandwidth"] = bandwidth_text(plan.bandwidth_bits_per_s);
  }
  if (!network.empty()) out["network"] = network;
  ordered_json store = ordered_json::object();
  put(store, "service_time", plan.service_time, usual.service_time);
  put(store, "service_time_per_byte", plan.service_time_per_byte, usual.service_time_per_byte);
  put(store, "backlog", plan.backlog, usual.backlog);
  if (!store.empty()) out["store"] = store;
  if (plan.pool_slots) out["worker_pool"]["slots"] = *plan.pool_slots;
  return out;
}

ordered_json program_json(const WorkerProgram& program) {
  ordered_json out = ordered_json::array();
  for (const WorkerStep& step : program) {
    switch (step.kind) {
      case WorkerStep::Kind::run: out.push_back({{"run", duration_text(step.span)}}); break;
      case WorkerStep::Kind::exit: out.push_back({{"exit", step.code}}); break;
      case WorkerStep::Kind::signal:
        out.push_back({{"signal", std::string(to_string(
                                      static_cast<sim::Signal>(static_cast<int>(step.code))))}});
        break;
      case WorkerStep::Kind::hang: out.push_back({{"hang", true}}); break;
      case WorkerStep::Kind::init: out.push_back({{"init", true}}); break;
      case WorkerStep::Kind::collective: {
        ordered_json json{{"collective", step.count}};
        put(json, "work", step.span, Duration::zero());
        out.push_back(json);
        break;
      }
      case WorkerStep::Kind::acquire: {
        ordered_json json{{"acquire", step.text}, {"after", duration_text(step.span)}};
        const auto signal = static_cast<sim::Signal>(static_cast<int>(step.code));
        if (signal != sim::Signal::kill) json["by"] = std::string(to_string(signal));
        out.push_back(json);
        break;
      }
      case WorkerStep::Kind::release: out.push_back({{"release", step.text}}); break;
      case WorkerStep::Kind::scribble: out.push_back({{"scribble", step.text}}); break;
      case WorkerStep::Kind::hold_timer:
        out.push_back({{"hold_timer", duration_text(step.span)}});
        break;
      case WorkerStep::Kind::beat: out.push_back({{"beat", step.text}}); break;
      case WorkerStep::Kind::destroy: out.push_back({{"destroy", step.text}}); break;
      case WorkerStep::Kind::raise: out.push_back({{"raise", step.text}}); break;
      case WorkerStep::Kind::await: out.push_back({{"await", step.text}}); break;
      case WorkerStep::Kind::start_timer: out.push_back({{"start_timer", step.text}}); break;
      case WorkerStep::Kind::stop_timer: out.push_back({{"stop_timer", step.text}}); break;
      case WorkerStep::Kind::serve: out.push_back({{"serve", step.count}}); break;
      case WorkerStep::Kind::child: out.push_back({{"child", step.count}}); break;
      case WorkerStep::Kind::error: out.push_back({{"error", step.text}}); break;
      case WorkerStep::Kind::sees:
        out.push_back({{"sees", step.text}, {"rank", step.count}});
        break;
      case WorkerStep::Kind::job:
        out.push_back({{"job", step.text}, {"world_size", step.count}});
        break;
    }
  }
  return out;
}

ordered_json workers_json(const WorkersPlan& plan) {
  const WorkersPlan usual;
  ordered_json out = ordered_json::object();
  put(out, "per_node", plan.per_node, usual.per_node);
  out["program"] = program_json(plan.program);
  if (!plan.peer_abort) {
    out["peer_abort"] = "never";
  } else {
    put(out, "peer_abort", *plan.peer_abort, *usual.peer_abort);
  }
  put(out, "slow_stop", plan.slow_stop, usual.slow_stop);
  put(out, "trace_store", plan.trace_store, usual.trace_store);
  for (const auto& [key, program] : plan.overrides) out["overrides"][key] = program_json(program);
  return out;
}

ordered_json pattern_json(const Trigger& trigger) {
  ordered_json out = ordered_json::object();
  if (trigger.fault_point) out["fault_point"] = *trigger.fault_point;
  if (trigger.event) out["event"] = *trigger.event;
  for (const auto& [key, value] : trigger.fields) out[key] = value;
  put(out, "node", trigger.on_node, std::string());
  put(out, "passage", trigger.passage, std::int64_t{1});
  if (trigger.at_most) out["at_most"] = *trigger.at_most;
  put(out, "not_before", trigger.not_before, Duration::zero());
  if (trigger.not_after) out["not_after"] = duration_text(*trigger.not_after);
  return out;
}

ordered_json entry_json(const TimelineEntry& entry) {
  ordered_json out = ordered_json::object();
  const Trigger& trigger = entry.trigger;
  if (trigger.at) {
    out["at"] = duration_text(*trigger.at);
  } else {
    out["when"] = pattern_json(trigger);
    put(out, "after", trigger.after, Duration::zero());
  }
  out["do"] = entry.what;
  const Word* const word = find_word(entry.what);
  const bool paths = word != nullptr && word->takes(kPaths);
  if (!entry.from.empty()) out[paths ? "from" : "node"] = names_json(entry.from);
  if (!entry.to.empty()) out["to"] = names_json(entry.to);
  put(out, "one_way", entry.one_way, false);
  if (entry.local_rank) out["local_rank"] = *entry.local_rank;
  if (entry.signal) out["signal"] = *entry.signal;
  if (entry.duration) out["for"] = duration_text(*entry.duration);
  if (entry.span) out["by"] = duration_text(*entry.span);
  if (entry.amount) out["amount"] = *entry.amount;
  if (entry.text) out["text"] = *entry.text;
  if (entry.every) {
    out["every"] = duration_text(*entry.every);
    out["times"] = entry.times;
  }
  return out;
}

ordered_json sum_json(const ExpectedSum& sum) {
  ordered_json out = pattern_json(sum.events);
  out["sum_of"] = sum.field;
  const auto limit = [&](std::int64_t value) -> ordered_json {
    if (sum.is_a_span) return duration_text(Duration(value));
    return value;
  };
  if (sum.range.min && sum.range.min == sum.range.max) {
    out["equal"] = limit(*sum.range.min);
    return out;
  }
  if (sum.range.min) out["at_least"] = limit(*sum.range.min);
  if (sum.range.max) out["at_most"] = limit(*sum.range.max);
  return out;
}

ordered_json expectation_json(const Expectation& expect) {
  ordered_json out = ordered_json::object();
  if (!expect.outcome.empty()) out["outcome"] = expect.outcome;
  if (!expect.exit_code.empty()) out["exit_code"] = expect.exit_code;
  for (const auto& [outcome, range] : expect.count) {
    ordered_json& json = out["count"][outcome] = ordered_json::object();
    if (range.min) json["min"] = *range.min;
    if (range.max) json["max"] = *range.max;
  }
  if (expect.rounds_min) out["rounds"]["min"] = *expect.rounds_min;
  if (expect.rounds_max) out["rounds"]["max"] = *expect.rounds_max;
  if (expect.within) out["within"] = duration_text(*expect.within);
  put(out, "holds", expect.holds, {});
  put(out, "violates", expect.violates, {});
  put(out, "coverage", expect.coverage, {});
  for (const Trigger& event : expect.events) out["events"].push_back(pattern_json(event));
  for (const Trigger& event : expect.never) out["never"].push_back(pattern_json(event));
  for (const ExpectedSum& sum : expect.sums) out["sums"].push_back(sum_json(sum));
  return out;
}

}  // namespace

std::string write_scenario(const Scenario& scenario) {
  ordered_json out{{"version", 1}, {"name", scenario.name}};
  put(out, "description", scenario.description, std::string());
  put(out, "references", scenario.references, {});
  out["seed"] = scenario.seed;
  if (scenario.schedule != kernel::Schedule()) {
    out["schedule"]["strategy"] = std::string(to_string(scenario.schedule.strategy));
    put(out["schedule"], "depth", scenario.schedule.depth, kernel::Schedule().depth);
  }
  put(out, "canary", scenario.canary, false);
  put(out, "time_limit", scenario.time_limit, Scenario().time_limit);
  out["protocol"] = protocol_json(scenario.protocol);
  out["cluster"] = cluster_json(scenario.cluster);
  out["workers"] = workers_json(scenario.workers);
  if (!scenario.timeline.empty()) out["timeline"] = ordered_json::array();
  for (const TimelineEntry& entry : scenario.timeline) out["timeline"].push_back(entry_json(entry));
  if (scenario.core) {
    out["core"] = {{"at", duration_text(scenario.core->at)},
                   {"nodes", names_json(scenario.core->nodes)}};
  }
  const ordered_json expect = expectation_json(scenario.expect);
  if (!expect.empty()) out["expect"] = expect;
  if (scenario.tape) {
    out["tape"] = ordered_json::array();
    for (const kernel::RecordedChoice& choice : *scenario.tape) {
      out["tape"].push_back({{"purpose", choice.purpose},
                             {"owner", choice.owner},
                             {"part", choice.part},
                             {"occurrence", choice.occurrence},
                             {"value", choice.value}});
    }
  }
  return laid_out(out);
}

}  // namespace hooke::scenario
