// What a project brings of its own: a rendezvous, an agent, timers, a process launcher and a manner of
// shutting down, each registered by name. Linked into a program it serves simulated scenarios; as a shared library it
// serves `hooke agent --plugin`.
#include <model/agent/kinds/agents_of_variant.h>
#include <model/launch/plugins.h>
#include <model/observe/trace_events.h>
#include <model/rendezvous/core/endpoint.h>
#include <model/signals/signal_gate.h>
#include <model/store/kinds/tcp_stores.h>
#include <model/timer/queue_timer.h>

namespace {

using namespace hooke;
using namespace std::chrono_literals;

void mark(sim::Ports& ports, const char* what) {
  ports.trace.emit(model::events::coverage_point, {what});
}

/// Rounds by arrival at a counter: every max_nodes arrivals are a round, in their order.
class CountingRendezvous final : public model::RendezvousHandler {
 public:
  CountingRendezvous(sim::Ports& ports, const model::RendezvousParameters& parameters)
      : ports_(ports), run_id_(parameters.run_id), size_(parameters.max_nodes) {
    model::TcpStoreOptions options;
    options.endpoint = model::parse_endpoint(parameters.endpoint, 29400);
    store_ = model::connect_tcp_store(ports, options);
  }
  std::string get_backend() const override { return "counting"; }
  std::string get_run_id() const override { return run_id_; }
  bool use_agent_store() const override { return false; }
  model::RendezvousInfo next_rendezvous() override {
    mark(ports_, "own_rendezvous");
    const std::int64_t arrival = arrivals(1) - 1;
    round_ = arrival / size_;
    while (arrivals(0) < (round_ + 1) * size_) model::interruptible_sleep(ports_, 100ms);
    model::RendezvousInfo info;
    info.store = model::make_prefix_store(run_id_ + "." + std::to_string(round_), store_);
    info.round = round_;
    info.rank = arrival % size_;
    info.world_size = size_;
    if (info.rank == 0) info.store->set("master", model::Value(ports_.network.host_name()));
    info.bootstrap = model::RendezvousStoreInfo{
        info.store->get("master").bytes(), static_cast<std::uint16_t>(29'700 + round_ % 1'000)};
    return info;
  }
  bool is_closed() override { return store_->check({run_id_ + ".closed"}); }
  void set_closed() override { store_->set(run_id_ + ".closed", model::Value(std::string("1"))); }
  std::int64_t num_nodes_waiting() override { return arrivals(0) - (round_ + 1) * size_; }
  bool shutdown() override { return set_closed(), true; }

 private:
  std::int64_t arrivals(std::int64_t more) { return store_->add(run_id_ + ".arrivals", more); }

  sim::Ports& ports_;
  std::string run_id_;
  std::int64_t size_;
  std::int64_t round_ = 0;
  std::shared_ptr<model::Store> store_;
};

/// Says on the trace when it begins and how it has ended.
class TellingAgent final : public model::Agent {
 public:
  explicit TellingAgent(const model::AgentParts& parts)
      : ports_(parts.ports), inner_(model::make_elastic_agent(parts)) {}
  std::optional<model::RunResult> run() override {
    mark(ports_, "own_agent");
    return inner_->run();
  }
  bool handles(sim::Signal signal) const override { return inner_->handles(signal); }
  void ended(const char* state, const std::string& error) override { inner_->ended(state, error); }

 private:
  sim::Ports& ports_;
  std::unique_ptr<model::Agent> inner_;
};

/// Asks workers that are late to end by SIGTERM instead of killing them.
class MildServer final : public model::QueueTimerServer {
 public:
  using QueueTimerServer::QueueTimerServer;

 protected:
  bool reap_worker(std::int64_t worker) override {
    mark(ports_, "own_timer");
    return ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)}, sim::Signal::term)
        .ok();
  }
};

class MildWatch final : public model::WorkerTimers {
 public:
  explicit MildWatch(sim::Ports& ports) : ports_(ports) {}
  std::map<std::string, std::string> start(const std::string&) override {
    auto queue = std::make_shared<model::TimerQueue>(ports_.executor);
    listener_ = std::make_unique<model::TimerListener>(ports_, sim::PortNumber{0}, queue);
    server_ = std::make_unique<MildServer>(ports_, queue, 100ms);
    server_->start();
    return {{"MILD_TIMER_PORT", std::to_string(listener_->port().value)}};
  }
  void stop() override {
    listener_ = nullptr;
    if (server_ != nullptr) server_->stop();
    server_ = nullptr;
  }
  const model::TimerServer* server() const override { return server_.get(); }

 private:
  sim::Ports& ports_;
  std::unique_ptr<model::TimerListener> listener_;
  std::unique_ptr<MildServer> server_;
};

class MildTimers final : public model::TimerKind {
 public:
  std::unique_ptr<model::WorkerTimers> watch(const model::TimerParts& parts) const override {
    return std::make_unique<MildWatch>(parts.ports);
  }
  std::unique_ptr<model::TimerClient> client(sim::Ports& ports, model::Variant,
                                             std::optional<sim::Signal>) const override {
    const std::string port = ports.processes.environment().at("MILD_TIMER_PORT");
    return std::make_unique<model::QueueTimerClient>(
        ports,
        sim::Endpoint{"localhost", sim::PortNumber{static_cast<std::uint16_t>(std::stoi(port))}});
  }
};

/// The agent's own children, each told which agent started it.
class SigningLauncher final : public model::ProcessLauncher {
 public:
  explicit SigningLauncher(sim::Ports& ports) : ports_(ports) {}
  void reserve(std::int64_t) override { mark(ports_, "own_launcher"); }
  sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) override {
    sim::SpawnRequest signed_one = request;
    signed_one.environment["STARTED_BY"] = "signing";
    return ports_.processes.spawn(signed_one);
  }
  std::optional<sim::ExitStatus> poll(sim::Pid worker) override {
    return ports_.processes.poll(worker);
  }
  sim::Outcome<sim::Done> signal(sim::Pid worker, sim::Signal signal, bool group) override {
    return group ? ports_.processes.signal_group(worker, signal)
                 : ports_.processes.signal(worker, signal);
  }
  void release() override {}

 private:
  sim::Ports& ports_;
};

/// Says that it closes the rendezvous, and closes it.
class TellingShutdown final : public model::ShutdownManner {
 public:
  bool shut_down(const model::ShutdownRequest& request) const override {
    mark(request.ports, "own_shutdown");
    return request.handler.shutdown();
  }
  bool looks_at_others() const override { return false; }
};

}  // namespace

extern "C" void hooke_register_plugins_1(model::Plugins& plugins) {
  plugins.coverage = {"own_rendezvous", "own_agent", "own_timer", "own_launcher", "own_shutdown"};
  plugins.rendezvous.add("counting", [](sim::Ports& ports, const auto& parameters) {
    return std::make_unique<CountingRendezvous>(ports, parameters);
  });
  plugins.agents.add("telling", [](const model::PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<model::AgentKind>(model::AgentKind{
        [](const model::AgentParts& parts) { return std::make_unique<TellingAgent>(parts); }});
  });
  plugins.timers.add("mild", [](const model::PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<MildTimers>();
  });
  plugins.launchers.add("signing", [](const model::PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<model::ProcessLauncherKind>(model::ProcessLauncherKind{
        [](sim::Ports& ports) { return std::make_unique<SigningLauncher>(ports); }});
  });
  plugins.shutdowns.add("telling", [](const model::PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<TellingShutdown>();
  });
}
