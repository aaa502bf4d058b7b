// A process that looks in vain is not run for it: the same events, times and hash as if it were.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using sim::Signal;

/// A process that looks every 10 ms whether `news` has come, beside another that draws and sleeps.
struct Looking {
  explicit Looking(bool steps, kernel::Strategy strategy = kernel::Strategy::fifo)
      : test(options(steps), 1, strategy) {
    a = test.node("a", {}, 40'000'000);
    pid = test.start(a, "looks", [this](Ports& ports) { return look(ports); });
    test.start(a, "noise", [](Ports& ports) {
      for (int draw = 0; draw < 50; ++draw) {
        sleep(ports, ports.random.between("test.pause", microseconds(1), milliseconds(20)));
      }
      return 0;
    });
  }
  static WorldOptions options(bool steps) {
    WorldOptions options = constant_latency();
    options.timer_slack = microseconds(50);
    options.steps_polls = steps;
    return options;
  }
  int look(Ports& ports) {
    struct Eyes final : sim::Lookout {
      Eyes(Looking& of, Ports& at) : test(of), ports(at) {}
      std::optional<MonotonicTime> sleeps_on() override {
        ++test.asked;
        if (test.news) return std::nullopt;
        return in(ports, milliseconds(10));
      }
      Looking& test;
      Ports& ports;
    } eyes(*this, ports);
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    for (;;) {
      const bool signalled = ports.processes.wait_signal(in(ports, milliseconds(10)), eyes);
      ++looks;
      if (!signalled && !news) continue;
      seen = test.now();
      return signalled ? 15 : 0;
    }
  }

  TestWorld test;
  NodeId a;
  Pid pid;
  bool news = false;
  int looks = 0;
  int asked = 0;
  Duration seen{};
};

using Prepare = std::function<void(Looking&)>;

struct Run {
  std::vector<std::string> events;
  kernel::TraceHash hash;
  std::uint64_t steps;
  Duration seen;
  std::optional<int> code;
  int asked;
  int looks;
};

Run run_of(const Prepare& prepare, bool steps, kernel::Strategy strategy) {
  Looking looking(steps, strategy);
  prepare(looking);
  looking.test.run();
  return {looking.test.events.lines,
          looking.test.trace.hash(),
          looking.test.kernel.steps(),
          looking.seen,
          looking.test.exit_code(looking.a, looking.pid),
          looking.asked,
          looking.looks};
}

/// The one that looks itself and the one that is looked out for, after the same.
void expect_the_same(const Prepare& prepare, int code) {
  for (const kernel::Strategy strategy : {kernel::Strategy::fifo, kernel::Strategy::random}) {
    const Run stepped = run_of(prepare, true, strategy);
    const Run computed = run_of(prepare, false, strategy);
    EXPECT_EQ(stepped.events, computed.events);
    EXPECT_EQ(stepped.hash, computed.hash);
    EXPECT_EQ(stepped.steps, computed.steps);
    EXPECT_EQ(stepped.seen, computed.seen);
    EXPECT_EQ(stepped.asked, 0);
    EXPECT_LE(computed.looks, 1);
    EXPECT_GT(computed.asked, 10);
    EXPECT_GT(stepped.looks, 10);
    EXPECT_EQ(computed.code, code);
  }
}

TEST(Lookouts, what_is_seen_is_seen_at_the_same_look) {
  expect_the_same(
      [](Looking& looking) {
        looking.test.at(milliseconds(333), [&looking] { looking.news = true; });
      },
      0);
}

TEST(Lookouts, a_signal_is_caught_at_once) {
  expect_the_same(
      [](Looking& looking) {
        looking.test.inject_at(milliseconds(333), FaultKind::process_signal, [&](Fault& fault) {
          fault.node = looking.a;
          fault.pid = looking.pid;
          fault.signal = Signal::term;
        });
      },
      15);
}

TEST(Lookouts, one_that_sleeps_on_can_be_killed) {
  expect_the_same(
      [](Looking& looking) {
        looking.test.inject_at(milliseconds(333), FaultKind::process_signal, [&](Fault& fault) {
          fault.node = looking.a;
          fault.pid = looking.pid;
        });
      },
      -9);
}

TEST(Lookouts, pauses_and_clocks_that_stand_still_hold_for_them_too) {
  expect_the_same(
      [](Looking& looking) {
        looking.test.inject_at(milliseconds(120), FaultKind::process_pause, [&](Fault& fault) {
          fault.node = looking.a;
          fault.pid = looking.pid;
          fault.duration = milliseconds(45);
        });
        looking.test.inject_at(milliseconds(200), FaultKind::clock_freeze, [&](Fault& fault) {
          fault.node = looking.a;
          fault.duration = milliseconds(70);
        });
        looking.test.at(milliseconds(400), [&looking] { looking.news = true; });
      },
      0);
}

}  // namespace
}  // namespace hooke::world
