// A run is its choices: equal ones give an equal run, and what is added elsewhere changes nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

WorldOptions varying_latency() {
  WorldOptions options;
  options.network.latency = {microseconds(150), milliseconds(2)};
  return options;
}

constexpr sim::EventType kAnswered{"test.answered", {"text", "after"}};

/// A server, three clients that draw, talk and sleep, and faults of many kinds. `extra` machines
/// that no process talks to come first or last.
struct Busy {
  Busy(std::uint64_t seed, kernel::Strategy strategy, int extra_before, int extra_after)
      : test(varying_latency(), seed, strategy), server(echo) {
    test.world->set_default_service({microseconds(11), nanoseconds(1), 4096, microseconds(20)});
    add_extra(extra_before, "before");
    const NodeId host = test.node("host");
    for (const char* name : {"a", "b", "c"}) test.node(name);
    add_extra(extra_after, "after");
    test.start(host, "server", serve(server));
    test.world->register_program("client", [this](Ports& ports) { return talk(ports); });
    for (const char* name : {"a", "b", "c"}) {
      test.start_again(*test.world->find_node(name), "client");
    }
    test.inject_at(milliseconds(40), FaultKind::net_partition, [this](Fault& fault) {
      fault.paths = {{*test.world->find_node("b")}, {}, false};
      fault.duration = milliseconds(30);
    });
    test.inject_at(milliseconds(50), FaultKind::clock_drift, [this](Fault& fault) {
      fault.node = *test.world->find_node("c");
      fault.amount = 100'000'000;
    });
    test.run();
  }
  void add_extra(int count, const std::string& name) {
    for (int i = 0; i < count; ++i) {
      const NodeId node = test.node(name + std::to_string(i));
      test.start(node, "noise", [](Ports& ports) {
        for (int draw = 0; draw < 5; ++draw) {
          sleep(ports, ports.random.between("test.pause", microseconds(1), milliseconds(9)));
        }
        return 0;
      });
    }
  }
  int talk(Ports& ports) {
    const auto stream = dial(ports, "host");
    for (int i = 0; i < 20; ++i) {
      const MonotonicTime begin = ports.clock.monotonic_now();
      write_text(*stream, std::to_string(ports.random.below("test.word", 1000)));
      const std::string answer = read_text(*stream);
      ports.trace.emit(kAnswered, {answer, ports.clock.monotonic_now() - begin});
      story[ports.network.host_name()] += answer + " ";
      sleep(ports, ports.random.between("test.pause", microseconds(1), milliseconds(9)));
    }
    return 0;
  }
  [[nodiscard]] std::string hash() const { return test.trace.hash().hex(); }

  TestWorld test;
  AnsweringServer server;
  std::map<std::string, std::string> story;  ///< what each client read, in order
};

TEST(Determinism, equal_seeds_give_equal_runs_and_other_seeds_others) {
  std::set<std::string> hashes;
  for (const auto strategy : {kernel::Strategy::fifo, kernel::Strategy::random}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const std::string first = Busy(seed, strategy, 1, 1).hash();
      EXPECT_EQ(first, Busy(seed, strategy, 1, 1).hash());
      hashes.insert(first);
    }
  }
  EXPECT_EQ(hashes.size(), 10U);
}

TEST(Determinism, what_happens_is_the_same_down_to_the_last_event) {
  const auto lines = [](std::uint64_t seed) {
    return Busy(seed, kernel::Strategy::fifo, 0, 0).test.events.lines;
  };
  EXPECT_EQ(lines(7), lines(7));
  EXPECT_NE(lines(7), lines(8));
}

TEST(Determinism, a_machine_more_leaves_the_draws_of_the_others_as_they_are) {
  const auto story = [](int before, int after) {
    return Busy(3, kernel::Strategy::fifo, before, after).story;
  };
  const auto alone = story(0, 0);
  EXPECT_EQ(alone.size(), 3U);
  EXPECT_EQ(alone, story(0, 2));
  EXPECT_EQ(alone, story(2, 0));  // also when it shifts the numbers of all others
}

TEST(Determinism, a_process_draws_by_its_number_on_its_machine_and_by_purpose) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  std::vector<std::uint64_t> draws;
  const Program draw = [&](Ports& ports) {
    draws.push_back(ports.random.below("test.one", 1U << 30U));
    draws.push_back(ports.random.below("test.two", 1U << 30U));
    draws.push_back(ports.random.below("test.one", 1U << 30U));
    return 0;
  };
  test.start(a, "drawer", draw);
  test.start_again(a, "drawer");
  test.start_again(b, "drawer");
  test.run();
  ASSERT_EQ(draws.size(), 9U);
  EXPECT_EQ(std::set<std::uint64_t>(draws.begin(), draws.end()).size(), 9U);
}

TEST(Determinism, an_earlier_run_on_the_same_kernel_leaves_no_trace) {
  const auto run_on = [](kernel::Kernel& kernel, std::uint64_t seed) {
    kernel::SeededSource choices(seed);
    kernel::TraceRecorder trace;
    kernel.begin(choices, trace, {}, kernel::Strategy::fifo);
    World world(kernel, varying_latency());
    const NodeId a = world.add_node({"a", {}, 0});
    world.register_program("main", [](Ports& ports) {
      const auto refused = ports.network.connect({"a", PortNumber{1}}, std::nullopt);
      sleep(ports, milliseconds(ports.random.below("test.pause", 50)));
      return refused ? 1 : 0;
    });
    EXPECT_TRUE(world.start(a, {{"main"}, {}, true, {}, {}}).ok());
    kernel.run();
    return trace.hash().hex();
  };
  std::string fresh;
  {
    kernel::Kernel kernel;
    fresh = run_on(kernel, 5);
  }
  kernel::Kernel kernel;
  run_on(kernel, 4);
  EXPECT_EQ(run_on(kernel, 5), fresh);
}

RC_GTEST_PROP(Determinism, bytes_of_a_stream_arrive_whole_and_in_order_under_any_path_faults, ()) {
  struct Step {
    int fault;
    int start_ms;
    int span_ms;
    bool one_way;
  };
  const auto steps = *rc::gen::container<std::vector<Step>>(rc::gen::apply(
      [](int fault, int start, int span, bool one_way) {
        return Step{fault, start, span, one_way};
      },
      rc::gen::inRange(0, 4), rc::gen::inRange(0, 400), rc::gen::inRange(1, 300),
      rc::gen::arbitrary<bool>()));
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  TestWorld test(varying_latency(), seed, kernel::Strategy::random);
  std::string seen;
  AnsweringServer server([&](const std::string& text) {
    seen += text;
    return text;
  });
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.start(b, "server", serve(server));
  for (const Step& step : steps) {
    constexpr FaultKind kKinds[] = {FaultKind::net_partition, FaultKind::net_clog,
                                    FaultKind::net_delay, FaultKind::net_bandwidth};
    test.inject_at(milliseconds(step.start_ms), kKinds[step.fault], [=](Fault& fault) {
      fault.paths = {{a}, {b}, step.one_way};
      fault.duration = milliseconds(step.span_ms);
      fault.span = milliseconds(step.span_ms % 17);
      fault.amount = 1'000 * step.span_ms;
    });
  }
  std::string sent;
  std::string echoed;
  test.start(a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    for (int i = 0; i < 100; ++i) {
      const std::string text = std::to_string(i) + ";";
      sent += text;
      write_text(*stream, text);
      sleep(ports, ports.random.between("test.pause", Duration(1), milliseconds(8)));
    }
    while (echoed.size() < sent.size()) echoed += read_text(*stream);
    return 0;
  });
  test.run();
  RC_ASSERT(seen == sent);
  RC_ASSERT(echoed == sent);
}

}  // namespace
}  // namespace hooke::world
