#pragma once
// Agents on simulated machines, each with a rendezvous that does what the test says: what an agent
// does is looked at alone.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/launch/plugins.h"
#include "model/signals/signal_gate.h"
#include "properties/unit/model/agent/memory_store.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {

using namespace std::chrono_literals;
using sim::Duration;
using sim::Ports;
using sim::Signal;

/// An event with every field as text.
struct Seen {
  std::string name;
  sim::NodeId node;
  Duration at{};
  std::map<std::string, std::string> fields;
  [[nodiscard]] const std::string& operator[](const std::string& field) const {
    return fields.at(field);
  }
};

class SeenEvents final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    Seen seen{std::string(event.type->name), event.node, event.at.time_since_epoch(), {}};
    for (std::size_t i = 0; i < event.fields.size(); ++i) {
      seen.fields[std::string(event.type->fields[i])] =
          event.fields[i].is_text() ? std::string(event.fields[i].text())
                                    : std::to_string(event.fields[i].number());
    }
    all.push_back(std::move(seen));
  }
  std::vector<Seen> all;
};

/// How the rendezvous of one agent behaves, and what was asked of it.
struct FakeRendezvous {
  /// The n-th call of next_rendezvous, from 0. Default: the next round, alone.
  std::function<RendezvousInfo(Ports&, std::int64_t call)> join;
  std::function<std::int64_t(Ports&)> waiting = [](Ports&) { return std::int64_t{0}; };
  std::function<bool(Ports&)> shutdown = [](Ports&) { return true; };
  std::function<void(Ports&)> leave = [](Ports& ports) { check_signals(ports); };
  std::function<Successor()> successor = [] { return Successor::none; };
  std::function<bool()> round_is_taken = [] { return false; };
  std::function<GroupState(Ports&)> group_state = [](Ports&) { return GroupState::whole; };
  std::optional<Duration> outage_limit;
  std::shared_ptr<MemoryStoreData> job_store;  ///< of what outlives a round; may be none
  std::function<void()> closing_anew;          ///< what the agent has asked to be called
  std::function<void(std::int64_t)> seated;    ///< likewise
  std::function<bool(const std::shared_ptr<Store>&)> untold;  ///< likewise, while it lingers
  bool agent_store = true;
  std::int64_t joins = 0;
  std::int64_t looks = 0;  ///< calls of num_nodes_waiting
  std::int64_t shutdowns = 0;
  std::int64_t leaves = 0;
  std::int64_t lingers = 0;
  std::int64_t handed_on = 0;
};

class FakeHandler final : public RendezvousHandler {
 public:
  FakeHandler(Ports& ports, std::string run_id, FakeRendezvous& fake)
      : ports_(ports), run_id_(std::move(run_id)), fake_(fake) {}
  [[nodiscard]] std::string get_backend() const override { return "fake"; }
  [[nodiscard]] std::string get_run_id() const override { return run_id_; }
  [[nodiscard]] bool use_agent_store() const override { return fake_.agent_store; }
  RendezvousInfo next_rendezvous() override { return fake_.join(ports_, fake_.joins++); }
  bool is_closed() override { return fake_.shutdowns > 0; }
  void set_closed() override { ++fake_.shutdowns; }
  std::int64_t num_nodes_waiting() override {
    ++fake_.looks;
    return fake_.waiting(ports_);
  }
  Successor successor() override { return fake_.successor(); }
  bool round_is_taken() override { return fake_.round_is_taken(); }
  GroupState group_state() override { return fake_.group_state(ports_); }
  [[nodiscard]] std::optional<Duration> outage_limit() const override { return fake_.outage_limit; }
  void when_closing_anew(std::function<void()> call) override {
    fake_.closing_anew = std::move(call);
  }
  void when_seated(std::function<void(std::int64_t)> call) override {
    fake_.seated = std::move(call);
  }
  [[nodiscard]] std::shared_ptr<Store> job_store() override {
    if (fake_.job_store == nullptr) return nullptr;
    return std::make_shared<MemoryStore>(ports_, fake_.job_store);
  }
  bool leave() override {
    fake_.leave(ports_);
    ++fake_.leaves;
    return true;
  }
  void linger() override {
    ++fake_.lingers;
    while (fake_.untold && !fake_.untold(job_store())) world::sleep(ports_, 1s);
  }
  void tell_while_lingering(std::function<bool(const std::shared_ptr<Store>&)> tell) override {
    fake_.untold = std::move(tell);
  }
  std::shared_ptr<TcpStoreServer> hand_on() override {
    ++fake_.handed_on;
    return nullptr;
  }
  bool shutdown() override {
    ++fake_.shutdowns;
    return fake_.shutdown(ports_);
  }

 private:
  Ports& ports_;
  std::string run_id_;
  FakeRendezvous& fake_;
};

/// One agent of the job and its machine.
struct TestAgent {
  sim::NodeId node;
  sim::Pid pid;
  LaunchConfig config;
  FakeRendezvous rendezvous;
  std::map<std::string, std::string> environment;
};

class TestJob : public world::TestWorld {
 public:
  /// Agents on machines a, b, … that meet in every round; one worker each, which runs for 10 s.
  explicit TestJob(std::size_t nodes = 1) {
    trace.add_sink(seen);
    plugins.rendezvous.add("fake", [this](Ports& ports, const RendezvousParameters& parameters) {
      return std::make_unique<FakeHandler>(ports, parameters.run_id, of(ports).rendezvous);
    });
    world->register_program(
        "agent", [this](Ports& ports) { return launch_agent(ports, plugins, of(ports).config); });
    world->register_program("worker", [this](Ports& ports) {
      environments.push_back(ports.processes.environment());
      arguments.push_back(ports.processes.arguments());
      return worker(ports);
    });
    for (std::size_t i = 0; i < nodes; ++i) add_agent(i, nodes);
  }

  TestAgent& operator[](std::size_t index) { return agents_[index]; }

  /// Starts all agents, or one.
  void start() {
    for (std::size_t i = 0; i < agents_.size(); ++i) start_agent(i);
  }
  void start_agent(std::size_t index) {
    TestAgent& agent = agents_[index];
    auto pid = world->start(agent.node, {{"agent"}, agent.environment, true, {}, {}});
    EXPECT_TRUE(pid.ok());
    agent.pid = pid.value();
  }
  void start_and_run() {
    start();
    run();
  }
  void signal_at(Duration when, Signal signal, std::size_t index = 0) {
    inject_at(when, world::FaultKind::process_signal, [this, signal, index](world::Fault& fault) {
      fault.node = agents_[index].node;
      fault.pid = agents_[index].pid;
      fault.signal = signal;
    });
  }
  /// What `node` in round `round` of the job gets.
  RendezvousInfo round_of(Ports& ports, std::int64_t round) {
    RendezvousInfo info;
    info.store = std::make_shared<MemoryStore>(ports, store(round));
    info.round = round;
    info.rank = rank_of(ports);
    info.world_size = static_cast<std::int64_t>(agents_.size());
    info.bootstrap = RendezvousStoreInfo{"a", 29501};
    return info;
  }
  /// The store of a round.
  std::shared_ptr<MemoryStoreData> store(std::int64_t round) {
    auto& data = stores_[round];
    if (data == nullptr) data = std::make_shared<MemoryStoreData>();
    return data;
  }

  // ---- what happened ----
  [[nodiscard]] std::vector<Seen> events_named(const std::string& name,
                                               std::size_t index = 0) const {
    std::vector<Seen> found;
    std::copy_if(seen.all.begin(), seen.all.end(), std::back_inserter(found),
                 [&](const Seen& e) { return e.name == name && e.node == agents_[index].node; });
    return found;
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& name, const std::string& field,
                                               std::size_t index = 0) const {
    std::vector<std::string> found;
    for (const Seen& event : events_named(name, index)) found.push_back(event[field]);
    return found;
  }
  [[nodiscard]] std::vector<std::string> states(std::size_t index = 0) const {
    return texts("group.state", "state", index);
  }
  /// "outcome code detail" of the agent's end; "<none>" while it has not finished.
  [[nodiscard]] std::string ending(std::size_t index = 0) const {
    const auto found = events_named("agent.finished", index);
    if (found.empty()) return "<none>";
    return found.back()["outcome"] + " " + found.back()["exit_code"] + " " + found.back()["detail"];
  }
  [[nodiscard]] std::optional<int> status(std::size_t index = 0) const {
    return exit_code(agents_[index].node, agents_[index].pid);
  }
  [[nodiscard]] std::size_t living(std::size_t index = 0) const {
    return world->living(agents_[index].node).size();
  }
  /// Values that the started workers saw of one variable, in order.
  [[nodiscard]] std::vector<std::string> variable(const std::string& name) const {
    std::vector<std::string> found;
    for (const auto& environment : environments) {
      const auto value = environment.find(name);
      found.push_back(value == environment.end() ? "<unset>" : value->second);
    }
    return found;
  }

  std::function<int(Ports&)> worker = [](Ports& ports) {
    world::sleep(ports, 10s);
    return 0;
  };
  std::vector<std::map<std::string, std::string>> environments;  ///< of all workers started
  std::vector<std::vector<std::string>> arguments;
  SeenEvents seen;
  Plugins plugins;

 private:
  void add_agent(std::size_t index, std::size_t nodes) {
    TestAgent& agent = agents_.emplace_back();
    agent.node = node(std::string(1, static_cast<char>('a' + index)));
    agent.config.rdzv_backend = "fake";
    agent.config.run_id = "job";
    agent.config.min_nodes = agent.config.max_nodes = static_cast<std::int64_t>(nodes);
    agent.config.command = {"worker"};
    agent.rendezvous.join = [this](Ports& ports, std::int64_t call) {
      return round_of(ports, call + 1);
    };
  }
  TestAgent& of(Ports& ports) { return agents_[static_cast<std::size_t>(rank_of(ports))]; }
  static std::int64_t rank_of(Ports& ports) { return ports.network.host_name().front() - 'a'; }

  std::deque<TestAgent> agents_;
  std::map<std::int64_t, std::shared_ptr<MemoryStoreData>> stores_;
};

// ---- workers

/// A worker's variable as a number.
inline std::int64_t number_of(Ports& ports, const std::string& variable) {
  return std::stoll(ports.processes.environment().at(variable));
}

/// Runs for `span` and ends with `code`.
inline std::function<int(Ports&)> exits(Duration span, int code) {
  return [span, code](Ports& ports) {
    world::sleep(ports, span);
    return code;
  };
}

/// Ignores SIGTERM and runs for ever.
inline int ignores_sigterm(Ports& ports) {
  static_cast<void>(ports.processes.catch_signal(Signal::term));
  world::park_for_ever(ports);
  return 0;
}

/// Injects a sleep in the kernel into the process of local rank `rank` at 500 ms.
inline void make_unkillable(TestJob& job, std::int32_t rank, Duration span) {
  job.inject_at(500ms, world::FaultKind::process_unkillable, [&job, rank, span](world::Fault& f) {
    f.node = job[0].node;
    f.pid = sim::Pid{101 + rank};
    f.duration = span;
  });
}

}  // namespace hooke::model
