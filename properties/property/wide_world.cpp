// Each part of a world is drawn by itself; most parts are usually absent.
#include "wide_world.h"

#include <algorithm>
#include <array>

#include "dice.h"
#include "fault_entry.h"
#include "sim/port/process_host.h"

namespace hooke::scenario {
namespace {

using Kind = WorkerStep::Kind;

WorkerStep step(Kind kind, Duration span = {}, std::string text = "") {
  WorkerStep out;
  out.kind = kind;
  out.span = span;
  out.code = kind == Kind::acquire ? static_cast<int>(sim::Signal::kill) : 0;
  out.text = std::move(text);
  return out;
}

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : dice_(seed) {
    world_.name = "wide-" + std::to_string(seed);
    world_.seed = seed;
    world_.time_limit = 900s;
  }

  Scenario world() {
    cluster();
    protocol();
    workers();
    faults();
    return std::move(world_);
  }

 private:
  void cluster() {
    const std::int64_t nodes = 1 + dice_.below(5);
    for (std::int64_t i = 0; i < nodes; ++i) {
      NodePlan node;
      node.id = std::string(1, static_cast<char>('a' + i));
      if (i > 0 && dice_.one_in(3)) node.start = dice_.span(1s, 90s);
      if (dice_.one_in(12)) node.clock_skew = dice_.span(-30s, 30s);
      world_.cluster.nodes.push_back(node);
    }
    world_.cluster.store_host = dice_.one_in(2) ? "" : "a";
  }

  void protocol() {
    ProtocolPlan& protocol = world_.protocol;
    const std::int64_t variant = dice_.below(8);
    protocol.variant = variant < 4   ? model::Variant::torch_2_x
                       : variant < 7 ? model::Variant::hardened
                                     : model::Variant::torch_1_13;
    RendezvousPlan& rendezvous = protocol.rendezvous;
    const auto nodes = static_cast<std::int64_t>(world_.cluster.nodes.size());
    rendezvous.max_nodes = std::max<std::int64_t>(1, nodes + 1 - dice_.below(3));
    rendezvous.min_nodes = 1 + dice_.below(rendezvous.max_nodes);
    if (dice_.one_in(4)) backend(rendezvous);
    rendezvous.join = dice_.one_in(2) ? 600s : 90s;
    rendezvous.last_call = dice_.one_in(3) ? 30s : 4s;
    if (dice_.one_in(2)) rendezvous.read_timeout = 20s;
    AgentPlan& agent = protocol.agent;
    agent.max_restarts = dice_.below(4);
    agent.exit_barrier_timeout = 60s;
    if (dice_.one_in(5)) agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
    timers_ = dice_.one_in(5);
    if (timers_) {
      agent.environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
      if (dice_.one_in(3)) agent.timer = "queue";
    }
    beats_ = dice_.one_in(6);
    if (beats_) {
      model::HeartbeatPlan& plan = agent.heartbeats.emplace();
      plan.interval = dice_.span(300ms, 1500ms);
      plan.deadline = plan.interval * 2 + dice_.span(500ms, 4s);
      plan.policy = static_cast<model::HeartbeatPolicy>(dice_.below(3));
    }
  }

  void backend(RendezvousPlan& rendezvous) {
    constexpr std::array kBackends{"etcd-v2", "etcd-v3", "etcd", "static"};
    rendezvous.backend = kBackends.at(static_cast<std::size_t>(dice_.below(kBackends.size())));
    if (rendezvous.backend != "static") {
      world_.cluster.store_host.clear();
      return;
    }
    world_.cluster.store_host = "a";
    rendezvous.max_nodes = static_cast<std::int64_t>(world_.cluster.nodes.size());
    rendezvous.min_nodes = rendezvous.max_nodes;
  }

  void workers() {
    WorkersPlan& workers = world_.workers;
    workers.per_node = 1 + dice_.below(3);
    workers.peer_abort = dice_.span(5s, 30s);
    workers.program = program();
    if (dice_.one_in(8)) workers.slow_stop = 45s;
    for (const NodePlan& node : world_.cluster.nodes) {
      for (std::int64_t rank = 1; (timers_ || beats_) && rank < workers.per_node; ++rank) {
        workers.overrides[node.id + "/" + std::to_string(rank)] = program();
      }
      if (!dice_.one_in(4)) continue;
      const std::string rank = std::to_string(dice_.below(workers.per_node));
      const std::string every_time = dice_.one_in(4) ? "/*" : "";
      workers.overrides[node.id + "/" + rank + every_time] = failing();
    }
  }

  /// Some groups meet; the workers of others, which may be guarded or beat, do not.
  WorkerProgram program() {
    WorkerProgram out;
    if (timers_ || beats_ || dice_.one_in(4)) {
      own_work(out);
    } else {
      out.push_back(step(Kind::init));
      WorkerStep train = step(Kind::collective, dice_.span(1s, 15s));
      train.count = 1 + dice_.below(6);
      out.push_back(train);
    }
    out.push_back(step(Kind::exit));
    return out;
  }

  void own_work(WorkerProgram& out) {
    if (beats_) out.push_back(step(Kind::beat, {}, "start"));
    for (std::int64_t i = dice_.below(4); i >= 0; --i) {
      if (!timers_) {
        out.push_back(step(Kind::run, dice_.span(1s, 40s)));
        continue;
      }
      const Duration span = dice_.span(1s, 12s);
      const std::string scope = dice_.one_in(3) ? "shared" : "step " + std::to_string(i);
      // Some renew their timer half way, some release it only just in time, some too late.
      out.push_back(step(Kind::acquire, span, scope));
      if (dice_.one_in(3)) {
        out.push_back(step(Kind::run, span / 2));
        out.push_back(step(Kind::acquire, span, scope));
      }
      out.push_back(step(Kind::run, dice_.one_in(4) ? span + 8s : span - dice_.span(400ms, 900ms)));
      out.push_back(step(Kind::release, {}, scope));
    }
    if (!beats_) return;
    if (dice_.one_in(2)) {
      out.push_back(step(Kind::beat, {}, "pause"));
      out.push_back(step(Kind::run, dice_.span(1s, 9s)));
      out.push_back(step(Kind::beat, {}, "start"));
    }
    out.push_back(step(Kind::run, 2s));
    out.push_back(step(Kind::beat, {}, "stop"));
  }

  WorkerProgram failing() {
    WorkerProgram out{step(Kind::run, dice_.span(1s, 30s))};
    WorkerStep end = step(dice_.one_in(3) ? Kind::signal : Kind::exit);
    end.code = end.kind == Kind::exit ? 1 + dice_.below(200) : static_cast<int>(sim::Signal::kill);
    out.push_back(end);
    return out;
  }

  void faults() {
    if (dice_.one_in(3)) fault(dice_.one_in(2) ? "node.crash" : "agent.kill");
    if (dice_.one_in(6)) fault("agent.signal");
    const auto words = words_of_every_store();
    for (std::int64_t i = std::max<std::int64_t>(dice_.below(5) - 1, 0); i > 0; --i) {
      const auto any = dice_.below(static_cast<std::int64_t>(words.size()));
      fault(words[static_cast<std::size_t>(any)].name);
    }
  }

  void fault(std::string_view name) {
    const auto& nodes = world_.cluster.nodes;
    const auto node = dice_.below(static_cast<std::int64_t>(nodes.size()));
    const Duration at = dice_.span(1s, 60s);
    const Duration lasts = dice_.span(1s, 50s);
    const std::int64_t amount = 1 + dice_.below(name == "worker.slow_stop" ? 60 : 5);
    if (name == "store.restart" && !world_.cluster.store_host.empty()) return;
    TimelineEntry entry =
        fault_entry(*find_word(name), nodes[static_cast<std::size_t>(node)].id, at, lasts, amount);
    if (name == "agent.signal" && dice_.one_in(2)) entry.signal = "SIGINT";
    world_.timeline.push_back(entry);
  }

  Dice dice_;
  Scenario world_;
  bool timers_ = false;
  bool beats_ = false;
};

}  // namespace

Scenario wide_world(std::uint32_t seed) {
  return Draw(seed).world();
}

}  // namespace hooke::scenario
