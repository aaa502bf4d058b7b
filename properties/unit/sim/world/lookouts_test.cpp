// A process that looks in vain is not run for it: the same events, times and hash as if it were.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using sim::Signal;

/// What brings the news for which a process looks.
enum class News : unsigned char { none, fiber, clock, child, message };

/// A process that looks every 10 ms whether there is news, which comes after 333 ms, beside another
/// that draws and sleeps.
struct Looking {
  struct How {
    bool steps = false;
    kernel::Strategy strategy = kernel::Strategy::fifo;
    News news = News::none;
    std::int64_t drift_ppb = 0;
  };
  explicit Looking(How given) : how(given), test(options(given.steps), 1, given.strategy) {
    a = test.node("a", {}, how.drift_ppb);
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
  /// Arranges for the news.
  void await_news(Ports& ports) {
    const MonotonicTime when = in(ports, milliseconds(333));
    switch (how.news) {
      case News::none: return;
      case News::clock: comes_at = when; return;
      case News::fiber:
        ports.executor.spawn("news", [this, &ports, when] {
          ports.executor.sleep_until(when);
          news = true;
        });
        return;
      case News::child:
        test.world->register_program("child", [](Ports& of_child) {
          sleep(of_child, milliseconds(333));
          return 0;
        });
        static_cast<void>(ports.processes.spawn({{"child"}, {}, true, {}, {}}));
        return;
      case News::message:
        listener = ports.network.listen(PortNumber{29500}, server).value();
        test.start(a, "tells", [when](Ports& of_teller) {
          auto stream = of_teller.network.connect({"a", PortNumber{29500}}, std::nullopt);
          of_teller.executor.sleep_until(when);
          static_cast<void>(stream.value()->write(sim::Buffer("news")));
          sleep(of_teller, milliseconds(1));
          return 0;
        });
    }
  }
  [[nodiscard]] bool has_news(Ports& ports) const {
    return news || ports.clock.monotonic_now() >= comes_at ||
           (how.news == News::child && ports.processes.may_have_ended_children());
  }
  int look(Ports& ports) {
    struct Eyes final : sim::Lookout {
      Eyes(Looking& of, Ports& at) : test(of), ports(at) {}
      std::optional<MonotonicTime> sleeps_on() override {
        ++test.asked;
        if (test.has_news(ports)) return std::nullopt;
        return in(ports, milliseconds(10));
      }
      Looking& test;
      Ports& ports;
    } eyes(*this, ports);
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    await_news(ports);
    for (;;) {
      const bool signalled = ports.processes.wait_signal(in(ports, milliseconds(10)), eyes);
      ++looks;
      if (!signalled && !has_news(ports)) continue;
      seen = test.now();
      listener.reset();
      return signalled ? 15 : 0;
    }
  }

  How how;
  bool news = false;
  MonotonicTime comes_at = MonotonicTime::max();
  AnsweringServer server{[this](const std::string&) {
    news = true;
    return std::string();
  }};
  std::unique_ptr<sim::Listener> listener;
  TestWorld test;
  NodeId a;
  Pid pid;
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

Run run_of(const Prepare& prepare, Looking::How how, bool steps) {
  how.steps = steps;
  Looking looking(how);
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

/// The one that looks itself and the one that is looked out for, after the same. Of one whose clock
/// goes like the world's the lookout is asked for many looks at once.
void expect_the_same(const Prepare& prepare, int code, News news = News::none) {
  for (const kernel::Strategy strategy :
       {kernel::Strategy::fifo, kernel::Strategy::random, kernel::Strategy::delays}) {
    for (const std::int64_t drift_ppb : {0, 40'000'000}) {
      const Looking::How how{false, strategy, news, drift_ppb};
      const Run stepped = run_of(prepare, how, true);
      const Run computed = run_of(prepare, how, false);
      EXPECT_EQ(stepped.events, computed.events);
      EXPECT_EQ(stepped.hash, computed.hash);
      EXPECT_EQ(stepped.steps, computed.steps);
      EXPECT_EQ(stepped.seen, computed.seen);
      EXPECT_EQ(stepped.asked, 0);
      EXPECT_LE(computed.looks, 1);
      EXPECT_GT(computed.asked, 0);
      EXPECT_GT(stepped.looks, 10);
      const int looks_asked_for = drift_ppb == 0 ? stepped.looks - 1 : stepped.looks;
      EXPECT_LE(computed.asked, looks_asked_for);
      EXPECT_EQ(computed.code, code);
    }
  }
}

TEST(Lookouts, what_is_seen_is_seen_at_the_same_look) {
  for (const News news : {News::fiber, News::clock, News::child, News::message}) {
    expect_the_same([](Looking&) {}, 0, news);
  }
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
      },
      0, News::clock);
}

}  // namespace
}  // namespace hooke::world
