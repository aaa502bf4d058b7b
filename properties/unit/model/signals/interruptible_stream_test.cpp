// Reads of a client that is told to go meanwhile.
#include "model/signals/interruptible_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/signals/signal_gate.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Duration;

/// Takes every connection, and says "late" on it after 8 s.
class LateServer final : public sim::AcceptHandler {
 public:
  explicit LateServer(sim::Ports& ports)
      : ports_(ports), listener_(ports.network.listen(sim::PortNumber{80}, *this).value()) {}
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    streams_.push_back(std::move(stream));
    ports_.executor.spawn("answer", [this] {
      ports_.executor.sleep_until(ports_.clock.monotonic_now() + 8s);
      static_cast<void>(streams_.back()->write(sim::Buffer("late")));
    });
  }

 private:
  sim::Ports& ports_;
  std::vector<std::unique_ptr<sim::Stream>> streams_;
  std::unique_ptr<sim::Listener> listener_;
};

struct Read {
  std::string what;
  Duration took{};
  bool signal_is_left = false;
};

/// A read from LateServer, with a SIGTERM at 2.5 s if `told_to_go`.
Read read_late(std::optional<Duration> timeout, bool told_to_go) {
  Read result;
  world::TestWorld world;
  const auto node = world.node("n");
  const sim::Pid client = world.start(node, "interruptible_reader", [&](sim::Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(sim::Signal::term));
    LateServer server(ports);
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    std::optional<sim::MonotonicTime> deadline;
    if (timeout) deadline = begin + *timeout;
    const auto stream =
        interruptible(ports, ports.network.connect({"n", sim::PortNumber{80}}, deadline).value());
    auto more = stream->read(deadline);
    result.what = more ? more.value().take(more.value().size()).bytes()
                       : std::string(to_string(more.failure().fault));
    result.took = ports.clock.monotonic_now() - begin;
    result.signal_is_left = ports.processes.take_signal().has_value();
    return 0;
  });
  if (told_to_go) {
    world.inject_at(2500ms, world::FaultKind::process_signal, [&](world::Fault& fault) {
      fault.node = node;
      fault.pid = client;
      fault.signal = sim::Signal::term;
    });
  }
  world.run();
  return result;
}

TEST(InterruptibleStream, a_caught_signal_ends_a_read_within_a_second_and_is_left_to_be_taken) {
  const Read read = read_late(20s, true);
  EXPECT_EQ(read.what, to_string(sim::Fault::timed_out));
  EXPECT_LE(read.took, 3500ms);
  EXPECT_TRUE(read.signal_is_left);
}

TEST(InterruptibleStream, else_a_read_lasts_until_bytes_come_or_its_own_deadline) {
  const Read in_time = read_late(20s, false);
  EXPECT_EQ(in_time.what, "late");
  EXPECT_GE(in_time.took, 8s);
  const Read too_late = read_late(5500ms, false);
  EXPECT_EQ(too_late.what, to_string(sim::Fault::timed_out));
  EXPECT_GE(too_late.took, 5500ms);
  EXPECT_LT(too_late.took, 6s);
}

TEST(InterruptibleStream, a_read_without_a_deadline_goes_on) {
  const Read read = read_late(std::nullopt, true);
  EXPECT_EQ(read.what, "late");
  EXPECT_TRUE(read.signal_is_left);
}

/// A read of a client in Python, in its main thread or in another one, with a SIGTERM at 2.5 s.
Read read_late_in_python(bool in_main_thread) {
  Read result;
  world::TestWorld world;
  const auto node = world.node("n");
  const sim::Pid client = world.start(node, "python_reader", [&](sim::Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(sim::Signal::term));
    LateServer server(ports);
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    const sim::FiberId main_thread = ports.executor.ticket().fiber;
    const auto stream = raising_in(
        main_thread, ports, ports.network.connect({"n", sim::PortNumber{80}}, begin + 20s).value());
    const auto reads = [&] {
      try {
        auto more = stream->read(begin + 20s);
        result.what = more ? more.value().take(more.value().size()).bytes() : "no answer";
      } catch (const SignalException&) {
        result.what = "raised";
      }
      result.took = ports.clock.monotonic_now() - begin;
    };
    if (in_main_thread) {
      reads();
    } else {
      ports.executor.join(ports.executor.spawn("other", reads));
    }
    result.signal_is_left = ports.processes.take_signal().has_value();
    return 0;
  });
  world.inject_at(2500ms, world::FaultKind::process_signal, [&](world::Fault& fault) {
    fault.node = node;
    fault.pid = client;
    fault.signal = sim::Signal::term;
  });
  world.run();
  return result;
}

TEST(RaisingStream, a_caught_signal_is_raised_within_a_second_in_the_main_thread_alone) {
  const Read raised = read_late_in_python(true);
  EXPECT_EQ(raised.what, "raised");
  EXPECT_LE(raised.took, 3500ms);
  EXPECT_FALSE(raised.signal_is_left);
  const Read other = read_late_in_python(false);
  EXPECT_EQ(other.what, "late");
  EXPECT_TRUE(other.signal_is_left);
}

}  // namespace
}  // namespace hooke::model
