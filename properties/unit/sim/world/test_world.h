#pragma once
// A world with constant latencies, so that a test can say exactly when something happens, and the
// small programs that tests of the world share.

#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/world/world.h"

namespace hooke::world {

using sim::Duration;
using sim::MonotonicTime;
using sim::NodeId;
using sim::Pid;
using sim::PortNumber;
using sim::Ports;
using sim::WorldTime;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// One-way 100 us between nodes, 20 us within one, no bandwidth limit, sleepers woken in time.
inline WorldOptions constant_latency() {
  WorldOptions options;
  options.network.latency = {microseconds(100), microseconds(100)};
  options.network.loopback = microseconds(20);
  options.network.bandwidth_bits_per_s = 0;
  options.timer_slack = Duration::zero();
  return options;
}

/// Every event as one line: "process.ended b/101 status=-9".
class EventLines final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    std::string line(event.type->name);
    if (event.node != sim::kNoNode) {
      line += " " + std::to_string(event.node.value) + "/" + std::to_string(event.pid.value);
    }
    for (std::size_t i = 0; i < event.fields.size(); ++i) {
      line += " " + std::string(event.type->fields[i]) + "=";
      line += event.fields[i].is_text() ? std::string(event.fields[i].text())
                                        : std::to_string(event.fields[i].number());
    }
    lines.push_back(std::move(line));
  }
  [[nodiscard]] std::size_t count(const std::string& start) const {
    std::size_t found = 0;
    for (const std::string& line : lines) found += line.starts_with(start) ? 1 : 0;
    return found;
  }
  [[nodiscard]] std::vector<std::string> starting_with(const std::string& start) const {
    std::vector<std::string> found;
    for (const std::string& line : lines) {
      if (line.starts_with(start)) found.push_back(line);
    }
    return found;
  }
  std::vector<std::string> lines;
};

class TestWorld {
 public:
  explicit TestWorld(WorldOptions options = constant_latency(), std::uint64_t seed = 1,
                     kernel::Strategy strategy = kernel::Strategy::fifo)
      : choices(seed) {
    trace.add_sink(events);
    kernel.begin(choices, trace, {}, strategy);
    world.emplace(kernel, std::move(options));
  }

  NodeId node(const std::string& name, Duration skew = {}, std::int64_t drift_ppb = 0) {
    return world->add_node({name, skew, drift_ppb});
  }

  /// Starts `body` as the program `name` on `on`.
  Pid start(NodeId on, const std::string& name, Program body) {
    world->register_program(name, std::move(body));
    return start_again(on, name);
  }
  Pid start_again(NodeId on, const std::string& name) {
    auto pid = world->start(on, {{name}, {}, true, {}, {}});
    EXPECT_TRUE(pid.ok()) << name;
    return pid.ok() ? pid.value() : Pid{};
  }

  /// Does `action` at that time of the world.
  void at(Duration when, std::function<void()> action) {
    actions_.push_back(std::move(action));
    kernel.at(WorldTime(when), {[](void* context, std::uint64_t) {
                                  (*static_cast<std::function<void()>*>(context))();
                                },
                                &actions_.back(), 0});
  }
  FaultId inject(
      FaultKind kind, std::function<void(Fault&)> fill = [](Fault&) {}) {
    Fault fault;
    fault.kind = kind;
    fill(fault);
    return world->inject(fault);
  }
  /// Injects at that time; the number appears in the result when it has happened.
  std::shared_ptr<FaultId> inject_at(Duration when, FaultKind kind,
                                     std::function<void(Fault&)> fill) {
    auto id = std::make_shared<FaultId>();
    at(when, [this, id, kind, fill] { *id = inject(kind, fill); });
    return id;
  }

  /// Runs until nothing is left to do.
  void run() { expect_end(kernel::RunEnd::idle); }
  /// Runs for `span` from now.
  void run_for(Duration span) {
    at(kernel.now().time_since_epoch() + span, [this] { kernel.stop(); });
    expect_end(kernel::RunEnd::stopped);
  }
  [[nodiscard]] Duration now() const { return kernel.now().time_since_epoch(); }
  [[nodiscard]] std::optional<int> exit_code(NodeId on, Pid pid) const {
    const auto status = world->exit_status(on, pid);
    return status ? std::optional(status->as_python()) : std::nullopt;
  }

  kernel::SeededSource choices;
  EventLines events;
  kernel::TraceRecorder trace;
  kernel::Kernel kernel;
  std::optional<World> world;

 private:
  void expect_end(kernel::RunEnd wanted) {
    const kernel::RunEnd end = kernel.run();
    EXPECT_EQ(kernel::to_string(end), kernel::to_string(wanted)) << kernel.failure();
  }
  std::list<std::function<void()>> actions_;
};

/// Parks the calling fiber for good.
inline void park_for_ever(Ports& ports) {
  for (;;) static_cast<void>(ports.executor.park(ports.executor.ticket()));
}

inline void sleep(Ports& ports, Duration span) {
  ports.executor.sleep_until(ports.clock.monotonic_now() + span);
}

inline MonotonicTime in(Ports& ports, Duration span) {
  return ports.clock.monotonic_now() + span;
}

/// Answers every piece of data it is given by what `answer` makes of it; nothing when that is
/// empty.
class AnsweringServer final : public sim::AcceptHandler {
 public:
  using Answer = std::function<std::string(const std::string&)>;
  explicit AnsweringServer(Answer answer) : answer_(std::move(answer)) {}

  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    ++accepted;
    connections_.push_back(std::make_unique<Connection>(*this, std::move(stream)));
  }
  /// Closes every connection.
  void hang_up() { connections_.clear(); }
  [[nodiscard]] sim::Stream& stream(std::size_t index) { return *connections_.at(index)->stream; }

  int accepted = 0;
  int ended = 0;

 private:
  struct Connection final : sim::StreamHandler {
    Connection(AnsweringServer& owner, std::unique_ptr<sim::Stream> given)
        : server(owner), stream(std::move(given)) {
      stream->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      const std::string answer = server.answer_(received.take_bytes(received.size()));
      if (!answer.empty()) static_cast<void>(stream->write(sim::Buffer(answer)));
    }
    void on_end() override {
      ++server.ended;
      stream.reset();
    }
    AnsweringServer& server;
    std::unique_ptr<sim::Stream> stream;
  };
  Answer answer_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

/// Serves on port 29500 with `server` for as long as it lives.
inline Program serve(AnsweringServer& server, std::uint16_t port = 29500) {
  return [&server, port](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{port}, server);
    if (!listener) return 1;
    park_for_ever(ports);
    return 0;
  };
}

inline std::string echo(const std::string& text) {
  return text;
}

/// Connects to port 29500 of `host`; null when that fails.
inline std::unique_ptr<sim::Stream> dial(Ports& ports, const std::string& host) {
  auto stream = ports.network.connect({host, PortNumber{29500}}, std::nullopt);
  return stream ? std::move(stream).value() : nullptr;
}

/// What a read gives as text: the bytes, "<end>", or "<fault>".
inline std::string read_text(sim::Stream& stream,
                             std::optional<MonotonicTime> deadline = std::nullopt) {
  auto got = stream.read(deadline);
  if (!got) return "<" + std::string(to_string(got.failure().fault)) + ">";
  return got->empty() ? "<end>" : got->take_bytes(got->size());
}

inline std::string write_text(sim::Stream& stream, const std::string& text) {
  auto done = stream.write(sim::Buffer(text));
  return done ? "ok" : "<" + std::string(to_string(done.failure().fault)) + ">";
}

}  // namespace hooke::world
