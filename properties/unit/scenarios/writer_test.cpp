// What is written is loaded back unchanged.
#include "scenarios/format/writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/observe/coverage_points.h"
#include "model/observe/raised_errors.h"
#include "model/variant/defects.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/vocabulary.h"
#include "test_files.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

/// Draws with RapidCheck; every value that comes out is one that the loader gives for some file.
class Draw {
 public:
  Scenario scenario() {
    Scenario out;
    out.name = shown_text();
    out.description = coin() ? shown_text() : "";
    for (int i = number(0, 2); i > 0; --i) out.references.push_back(shown_text());
    out.seed = *rc::gen::arbitrary<std::uint64_t>();
    if (coin()) {
      out.schedule = {*rc::gen::element(kernel::Strategy::fifo, kernel::Strategy::random,
                                        kernel::Strategy::walk, kernel::Strategy::pct,
                                        kernel::Strategy::delays),
                      number(0, 9)};
    }
    out.canary = coin();
    if (coin()) out.time_limit = positive();
    cluster(out);
    protocol(out.protocol);
    if (out.protocol.variant == model::Variant::torch_1_13) {  // which is in no job with others
      for (NodePlan& node : out.cluster.nodes) node.variant.reset();
    }
    workers(out);
    for (int i = number(0, 4); i > 0; --i) out.timeline.push_back(entry(out));
    if (coin()) expectation(out);
    if (coin()) out.tape = tape();
    return out;
  }

 private:
  static int number(int from, int to) { return *rc::gen::inRange(from, to + 1); }
  static bool coin() { return *rc::gen::arbitrary<bool>(); }
  static std::string text() {
    return *rc::gen::elementOf(std::vector<std::string>{"x", "two words", "\"quoted\"\n\t", "日本",
                                                        "a/b~c", "$", "-1", std::string("\0n", 2)});
  }
  static std::string shown_text() {
    return *rc::gen::elementOf(std::vector<std::string>{"x", "two words", "\"quoted\"", "日本"});
  }
  static Duration span() {
    const Duration unit = *rc::gen::elementOf(std::vector<Duration>{1us, 1ms, 1s, 1min, 1h});
    return unit * number(0, 2000);
  }
  static Duration positive() { return span() + 1us; }
  template <class T>
  static const T& one_of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(number(0, static_cast<int>(from.size()) - 1))];
  }

  static void cluster(Scenario& scenario) {
    ClusterPlan& plan = scenario.cluster;
    if (coin()) plan.pool_slots = number(1, 9);
    for (int i = number(1, 4); i > 0; --i) {
      NodePlan node;
      node.id = std::string(1, static_cast<char>('a' + plan.nodes.size()));
      if (coin()) node.start = std::min(span(), scenario.time_limit);
      if (number(0, 4) == 0) node.start.reset();
      if (coin()) node.clock_skew = span() - span();
      if (coin()) node.clock_drift_ppm = number(-100'000, 100'000);
      if (coin()) node.variant = model::Variant::hardened;
      if (coin()) node.local_addr = node.id + "-1.rack_2";
      plan.nodes.push_back(node);
    }
    if (coin()) plan.store_host = one_of(plan.nodes).id;
    if (coin()) plan.store_name = "head_1.svc-2";
    if (coin()) {
      plan.latency_median = span();
      plan.latency_p99 = plan.latency_median + span();
    }
    if (coin()) plan.bandwidth_bits_per_s = number(1, 1'000'000) * (coin() ? 1'000 : 1);
    if (coin()) plan.service_time = span();
    if (coin()) plan.service_time_per_byte = std::chrono::nanoseconds(number(0, 1000));
    if (coin()) plan.backlog = number(1, 1'000'000);
  }

  static void protocol(ProtocolPlan& plan) {
    if (coin()) plan.variant = model::Variant::torch_1_13;
    for (const std::string_view defect : model::defect_names()) {
      if (number(0, 9) == 0) plan.defects.emplace_back(defect);
    }
    RendezvousPlan& rendezvous = plan.rendezvous;
    rendezvous.min_nodes = number(1, 5);
    rendezvous.max_nodes = rendezvous.min_nodes + number(0, 5);
    for (Duration* each :
         {&rendezvous.join, &rendezvous.last_call, &rendezvous.close, &rendezvous.heartbeat,
          &rendezvous.keep_alive_interval, &rendezvous.read_timeout}) {
      if (coin()) *each = positive();
    }
    if (coin()) rendezvous.keep_alive_max_attempts = number(1, 10);
    AgentPlan& agent = plan.agent;
    if (coin()) agent.max_restarts = number(0, 10);
    if (coin()) agent.restart_policy = "backoff:first=2s,longest=1m";
    if (coin()) agent.timer = "queue:interval=1s";
    if (coin()) agent.process_launcher = "pool";
    if (coin()) agent.shutdown = "graceful:limit=20s";
    if (coin()) agent.monitor_interval = 1ms + span();
    if (coin()) agent.exit_barrier_timeout = span();
    if (coin()) agent.shutdown_timeout = span();
    if (coin()) agent.environment["TORCH_X"] = text();
    if (coin()) {
      model::HeartbeatPlan& heartbeats = agent.heartbeats.emplace();
      if (coin()) heartbeats.interval = 1ms + span();
      if (coin()) heartbeats.deadline = 1ms + span();
      heartbeats.deadline += heartbeats.interval;
      if (coin()) heartbeats.first_beat = 1ms + span();
      heartbeats.peers = coin();
      heartbeats.policy =
          *rc::gen::element(model::HeartbeatPolicy::mark, model::HeartbeatPolicy::restart,
                            model::HeartbeatPolicy::stop);
    }
  }

  static WorkerProgram program() {
    WorkerProgram out;
    for (int i = number(0, 3); i > 0; --i) {
      WorkerStep step;
      step.kind = static_cast<WorkerStep::Kind>(number(0, 20));
      if (step.kind == WorkerStep::Kind::run) step.span = span();
      if (step.kind == WorkerStep::Kind::hold_timer) step.span = span();
      if (step.kind == WorkerStep::Kind::release) step.text = text();
      if (step.kind == WorkerStep::Kind::destroy) {
        step.text = *rc::gen::element<std::string>("all", "process group", "heartbeats", "timers");
      }
      if (step.kind == WorkerStep::Kind::raise || step.kind == WorkerStep::Kind::await ||
          step.kind == WorkerStep::Kind::error) {
        step.text = text();
      }
      if (step.kind == WorkerStep::Kind::start_timer || step.kind == WorkerStep::Kind::stop_timer) {
        step.text = text();
      }
      if (step.kind == WorkerStep::Kind::serve || step.kind == WorkerStep::Kind::child) {
        step.count = number(1, 65'535);
      }
      if (step.kind == WorkerStep::Kind::beat) {
        step.text = *rc::gen::element<std::string>("start", "pause", "stop");
      }
      if (step.kind == WorkerStep::Kind::sees) {
        step.text = *rc::gen::element<std::string>("alive", "silent", "ended", "unknown");
        step.count = number(0, 9);
      }
      if (step.kind == WorkerStep::Kind::job) {
        step.text = *rc::gen::element<std::string>("gathering", "no state", "closed");
        step.count = number(0, 9);
      }
      if (step.kind == WorkerStep::Kind::scribble) step.text = text();
      if (step.kind == WorkerStep::Kind::acquire) {
        step.text = text();
        step.span = span();
        step.code = *rc::gen::element(2, 9, 15);
      }
      if (step.kind == WorkerStep::Kind::exit) step.code = number(0, 255);
      if (step.kind == WorkerStep::Kind::signal) step.code = *rc::gen::element(2, 9, 15);
      if (step.kind == WorkerStep::Kind::collective) {
        step.count = number(1, 100);
        step.span = span();
      }
      out.push_back(step);
    }
    return out;
  }

  static void workers(Scenario& scenario) {
    WorkersPlan& plan = scenario.workers;
    plan.per_node = number(1, 3);
    plan.program = program();
    if (coin()) plan.peer_abort = span();
    if (number(0, 4) == 0) plan.peer_abort.reset();
    if (coin()) plan.slow_stop = span();
    plan.trace_store = coin();
    for (const NodePlan& node : scenario.cluster.nodes) {
      if (coin()) continue;
      std::string key = node.id;
      if (coin()) key += "/" + std::to_string(number(0, static_cast<int>(plan.per_node) - 1));
      if (coin()) key += "/*";
      plan.overrides[key] = program();
    }
  }

  static std::vector<std::string> nodes(const Scenario& scenario) {
    std::vector<std::string> names(roles().begin(), roles().end());
    for (const NodePlan& node : scenario.cluster.nodes) names.push_back(node.id);
    std::vector<std::string> out{one_of(names)};
    for (const std::string& name : names) {
      if (name != out.front() && number(0, 3) == 0) out.push_back(name);
    }
    return out;
  }

  static Trigger trigger(const Scenario& scenario) {
    Trigger out;
    if (coin()) {
      out.at = std::min(span(), scenario.time_limit);
      return out;
    }
    if (coin()) {
      out.event = "rendezvous.joined";
      if (coin()) out.fields["rank"] = std::to_string(number(-1, 5));
      if (coin()) out.fields["run_id"] = text();
    } else {
      out.fault_point = std::string(fault_points()[static_cast<std::size_t>(number(0, 9))]);
    }
    if (coin()) out.on_node = one_of(scenario.cluster.nodes).id;
    if (coin()) out.passage = number(1, 9);
    if (coin()) out.after = span();
    return out;
  }

  static TimelineEntry entry(const Scenario& scenario) {
    const Word& word = words_of_every_store()[static_cast<std::size_t>(
        number(0, static_cast<int>(words_of_every_store().size()) - 1))];
    TimelineEntry out;
    out.what = word.name;
    if (out.what == "store.restart" && !scenario.cluster.store_host.empty()) out.what = "net.reset";
    const Word& real = *find_word(out.what);
    out.trigger = trigger(scenario);
    const auto takes = [&](Parameter parameter) {
      return (real.required & parameter) != 0 || ((real.optional & parameter) != 0 && coin());
    };
    if (takes(kNode) && (out.trigger.at || coin())) out.from = nodes(scenario);
    if (takes(kPaths)) out.from = nodes(scenario);
    if (!out.from.empty() && (real.required & kNode) == 0 && takes(kPaths)) {
      out.to = nodes(scenario);
      out.one_way = coin();
    }
    if (takes(kLocalRank))
      out.local_rank = number(0, static_cast<int>(scenario.workers.per_node) - 1);
    if (takes(kSignal)) out.signal = coin() ? "SIGTERM" : "INT";
    if (takes(kFor)) out.duration = positive();
    if (takes(kBy)) out.span = real.negative_by ? span() - span() : span();
    if (takes(kAmount)) {
      out.amount = *rc::gen::inRange(real.amount.min, real.amount.max + 1);
    }
    if (takes(kText)) out.text = text_for(real);
    if (coin()) {
      out.every = positive();
      out.times = number(1, 9);
    }
    return out;
  }

  static ExpectedSum sum_of(const Trigger& events) {
    ExpectedSum out;
    out.events = events;
    out.field = "round";
    out.is_a_span = coin();
    const auto limit = [&] { return out.is_a_span ? (span() - span()).count() : number(-9, 9); };
    out.range.min = limit();
    if (coin()) out.range.max = *out.range.min + (coin() ? span().count() : 0);
    if (out.range.max && coin()) out.range.min.reset();
    return out;
  }

  static std::string text_for(const Word& word) {
    switch (word.text_is) {
      case TextIs::background_task: return "tail " + text();
      case TextIs::error: return std::string(*rc::gen::elementOf(model::raised::kAll));
      case TextIs::name: break;
    }
    return text();
  }

  static void expectation(Scenario& scenario) {
    Expectation& expect = scenario.expect;
    for (const NodePlan& node : scenario.cluster.nodes) {
      if (coin()) expect.outcome[node.id] = coin() ? "succeeded" : "graceful_exit";
      if (coin()) expect.exit_code[node.id] = number(-64, 255);
    }
    if (coin()) expect.count["succeeded"] = {number(0, 5), number(5, 9)};
    if (coin()) expect.count["running"].max = number(0, 5);
    if (coin()) expect.rounds_min = number(0, 5);
    if (coin()) expect.rounds_max = expect.rounds_min.value_or(0) + number(0, 5);
    if (coin()) expect.within = span();
    if (coin()) expect.holds = {"safety.*", "liveness.exit"};
    if (coin()) expect.violates = {"liveness.loss_detection"};
    if (coin())
      expect.coverage = {
          std::string(model::coverage::kAll[static_cast<std::size_t>(number(0, 6))])};
    if (coin()) {
      Trigger event;
      event.event = "rendezvous.evicted";
      event.fields = {{"round", "1"}};
      if (coin()) event.on_node = scenario.cluster.nodes.front().id;
      event.passage = number(1, 9);
      if (coin()) event.not_before = span();
      if (coin()) event.not_after = event.not_before + span();
      expect.events = {event};
      if (coin()) expect.events.front().at_most = event.passage + number(0, 5);
      event.passage = 1;
      if (coin()) expect.never = {event};
      if (coin()) expect.sums = {sum_of(event)};
    }
  }

  static kernel::Tape tape() {
    kernel::Tape out;
    for (int i = number(0, 3); i > 0; --i) {
      const auto draw = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
      out.push_back({text(), draw(), draw(), draw(), draw()});
    }
    return out;
  }
};

RC_GTEST_PROP(Writer, what_it_writes_is_loaded_back_unchanged, ()) {
  const Scenario scenario = Draw().scenario();
  const std::string written = write_scenario(scenario);
  RC_LOG(written);
  RC_ASSERT(load_scenario(written, "written") == scenario);
  RC_ASSERT(write_scenario(load_scenario(written, "written")) == written);
}

TEST(Writer, every_scenario_of_the_library_survives_it) {
  const auto files = library_files();
  EXPECT_GE(files.size(), 26U);
  for (const auto& file : files) {
    const Scenario scenario = load_scenario_file(file.string());
    EXPECT_EQ(load_scenario(write_scenario(scenario), "again"), scenario) << file;
  }
}

TEST(Writer, leaves_defaults_out_and_keeps_the_order_of_the_format) {
  Scenario scenario;
  scenario.name = "small";
  scenario.cluster.nodes.resize(1);
  scenario.cluster.nodes[0].id = "a";
  scenario.cluster.store_host = "a";
  scenario.workers.program = {{WorkerStep::Kind::exit, {}, 3, 1}};
  scenario.expect.within = 90s;
  EXPECT_EQ(write_scenario(scenario), R"({
  "version": 1,
  "name": "small",
  "seed": 0,
  "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1}},
  "cluster": {"nodes": [{"id": "a"}]},
  "workers": {"program": [{"exit": 3}]},
  "expect": {"within": "90s"}
}
)");
}

TEST(Writer, breaks_lines_where_they_are_full_and_names_one_node_without_a_list) {
  Scenario scenario;
  scenario.name = "wide";
  for (char c = 'a'; c <= 'h'; ++c) {
    NodePlan node;
    node.id = std::string(1, c);
    scenario.cluster.nodes.push_back(node);
  }
  scenario.cluster.store_host = "a";
  scenario.workers.program = {{WorkerStep::Kind::exit, {}, 0, 1}};
  TimelineEntry entry;
  entry.trigger.at = 2s;
  entry.what = "net.clog";
  entry.from = {"b"};
  entry.to = {"c", "d"};
  scenario.timeline = {entry};
  EXPECT_EQ(write_scenario(scenario), R"({
  "version": 1,
  "name": "wide",
  "seed": 0,
  "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1}},
  "cluster": {
    "nodes": [
      {"id": "a"},
      {"id": "b"},
      {"id": "c"},
      {"id": "d"},
      {"id": "e"},
      {"id": "f"},
      {"id": "g"},
      {"id": "h"}
    ]
  },
  "workers": {"program": [{"exit": 0}]},
  "timeline": [{"at": "2s", "do": "net.clog", "from": "b", "to": ["c", "d"]}]
}
)");
}

}  // namespace
}  // namespace hooke::scenario
