// Two runs of one seed are one run; where they are not, the first different event is found.
#include "scenarios/simulated/determinism_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "properties/unit/scenarios/test_scenario.h"
#include "sim/world/world.h"

namespace hooke::scenario {
namespace {

constexpr sim::EventType kPlanted{"planted.step", {"item"}};

/// Adds a program to node a that looks at something it must not look at, and says what it saw.
RunReport run_with(const std::function<void(sim::Ports&)>& program) {
  RunOptions options;
  options.prepare = [&](world::World& world) {
    world.register_program("planted", [&program](sim::Ports& ports) {
      ports.executor.sleep_until(ports.clock.monotonic_now() + 10s);
      program(ports);
      return 0;
    });
    sim::SpawnRequest request;
    request.argv = {"planted"};
    ASSERT_TRUE(world.start(sim::NodeId{0}, request).ok());
  };
  return run_bare(job(2), nullptr, options);
}

TEST(DeterminismCheck, an_honest_job_runs_twice_alike) {
  const RunReport report = run_bare(job(4));
  EXPECT_FALSE(report.trace_difference.has_value());
  EXPECT_TRUE(report.passed) << unmet(report);
}

TEST(DeterminismCheck, a_planted_iteration_over_a_hash_map_of_pointers_is_located) {
  // The map is kept between the two runs, so its keys lie elsewhere in the second.
  std::vector<std::unique_ptr<std::string>> kept;
  const RunReport report = run_with([&](sim::Ports& ports) {
    std::unordered_set<const std::string*> set;
    const std::size_t first = kept.size();
    for (int i = 0; i < 100; ++i) {
      kept.push_back(std::make_unique<std::string>(std::to_string(i)));
      kept.push_back(std::make_unique<std::string>(std::string(kept.size() * 7 % 400, 'x')));
    }
    for (std::size_t i = first; i < kept.size(); i += 2) set.insert(kept[i].get());
    for (const std::string* item : set) ports.trace.emit(kPlanted, {*item});
  });
  ASSERT_TRUE(report.trace_difference.has_value());
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.harness_failure.find("not the same run"), std::string::npos);
  const TraceDifference& difference = *report.trace_difference;
  EXPECT_GT(difference.event_number, 1U);
  EXPECT_NE(difference.first.find("planted.step item="), std::string::npos) << difference.first;
  EXPECT_NE(difference.second.find("planted.step item="), std::string::npos) << difference.second;
  EXPECT_NE(difference.first, difference.second);
}

TEST(DeterminismCheck, a_planted_look_at_the_real_clock_is_located) {
  const RunReport report = run_with([](sim::Ports& ports) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    ports.trace.emit(kPlanted, {static_cast<std::int64_t>(now)});
  });
  ASSERT_TRUE(report.trace_difference.has_value());
  EXPECT_NE(report.trace_difference->first.find("10.0"), std::string::npos);
  EXPECT_NE(report.trace_difference->first.find("a["), std::string::npos);
  EXPECT_NE(report.trace_difference->first.find("planted.step"), std::string::npos);
  EXPECT_NE(report.trace_difference->second.find("planted.step"), std::string::npos);
  EXPECT_NE(report.trace_difference->first, report.trace_difference->second);
}

TEST(DeterminismCheck, a_difference_that_no_event_shows_is_found_at_the_next_event) {
  int runs = 0;
  const RunReport report = run_with([&](sim::Ports& ports) {
    // A fiber more in the second run, which does nothing that anybody sees.
    if (++runs == 2) ports.executor.spawn("unseen", [] {});
    ports.executor.sleep_until(ports.clock.monotonic_now() + 1s);
    ports.trace.emit(kPlanted, {"same"});
  });
  ASSERT_TRUE(report.trace_difference.has_value());
  EXPECT_EQ(report.trace_difference->first,
            report.trace_difference->second + ", reached by other steps");
}

TEST(DeterminismCheck, a_run_that_has_an_event_more_is_told_from_one_that_was_over) {
  int runs = 0;
  const auto emit_in_run = [&](int which) {
    runs = 0;
    return run_with([&, which](sim::Ports& ports) {
      if (++runs == which) {
        ports.executor.sleep_until(ports.clock.monotonic_now() + 1h);  // after the job is over
      }
    });
  };
  const RunReport more_steps_in_second = emit_in_run(2);
  ASSERT_TRUE(more_steps_in_second.trace_difference.has_value());
  EXPECT_NE(more_steps_in_second.trace_difference->first.find("process.ended"), std::string::npos);
}

// ---- the recorder and the comparer alone --------------------------------------------------------

struct Pair {
  explicit Pair(std::size_t bytes_max = FirstRun::kBytesMax)
      : recorder(first_trace, bytes_max),
        comparer(recorder, second_trace, names, [this] { ++stops; }) {
    first_trace.add_sink(recorder);
    second_trace.add_sink(comparer);
  }
  void emit(kernel::TraceRecorder& trace, sim::FieldValue field) {
    sim::EventId cause{};
    const std::vector<sim::FieldValue> fields{field};
    trace.emit(cause, sim::WorldTime(2s), {}, sim::NodeId{1}, sim::Pid{7}, kPlanted, fields);
  }
  std::vector<std::string> names{"a", "b"};
  kernel::TraceRecorder first_trace, second_trace;
  int stops = 0;
  FirstRun recorder;
  SecondRun comparer;
};

TEST(DeterminismCheck, a_number_and_a_text_of_the_same_digits_are_different) {
  Pair pair;
  pair.emit(pair.first_trace, 5);
  pair.recorder.finish(kernel::RunEnd::stopped);
  pair.emit(pair.second_trace, "5");
  ASSERT_TRUE(pair.comparer.difference().has_value());
  EXPECT_EQ(pair.comparer.difference()->event_number, 1U);
  EXPECT_EQ(pair.comparer.difference()->first,
            "2.000000000 s b[7] planted.step item=5 (caused by event 0)");
  EXPECT_EQ(pair.comparer.difference()->second,
            "2.000000000 s b[7] planted.step item=\"5\" (caused by event 0)");
  EXPECT_EQ(pair.stops, 1);
}

TEST(DeterminismCheck, texts_are_compared_to_their_last_letter) {
  Pair pair;
  for (const char* text : {"one", "two", "three"}) pair.emit(pair.first_trace, text);
  pair.recorder.finish(kernel::RunEnd::stopped);
  for (const char* text : {"one", "two", "thref"}) pair.emit(pair.second_trace, text);
  ASSERT_TRUE(pair.comparer.difference().has_value());
  EXPECT_EQ(pair.comparer.difference()->event_number, 3U);
  EXPECT_NE(pair.comparer.difference()->first.find("three"), std::string::npos);
}

TEST(DeterminismCheck, events_beyond_the_memory_limit_are_still_compared_but_not_shown) {
  Pair pair(200);
  for (int i = 0; i < 100; ++i) pair.emit(pair.first_trace, i);
  pair.recorder.finish(kernel::RunEnd::stopped);
  for (int i = 0; i < 99; ++i) pair.emit(pair.second_trace, i);
  EXPECT_FALSE(pair.comparer.difference().has_value());
  pair.emit(pair.second_trace, 5);
  ASSERT_TRUE(pair.comparer.difference().has_value());
  EXPECT_EQ(pair.comparer.difference()->event_number, 100U);
  EXPECT_NE(pair.comparer.difference()->first.find("too far"), std::string::npos);
}

TEST(DeterminismCheck, a_second_run_that_is_shorter_or_longer_is_different) {
  Pair shorter;
  shorter.emit(shorter.first_trace, 1);
  shorter.emit(shorter.first_trace, 2);
  shorter.recorder.finish(kernel::RunEnd::stopped);
  shorter.emit(shorter.second_trace, 1);
  shorter.comparer.finish(kernel::RunEnd::stopped);
  ASSERT_TRUE(shorter.comparer.difference().has_value());
  EXPECT_EQ(shorter.comparer.difference()->event_number, 2U);
  EXPECT_NE(shorter.comparer.difference()->first.find("item=2"), std::string::npos);
  EXPECT_NE(shorter.comparer.difference()->second.find("over"), std::string::npos);

  Pair longer;
  longer.emit(longer.first_trace, 1);
  longer.recorder.finish(kernel::RunEnd::stopped);
  longer.emit(longer.second_trace, 1);
  longer.emit(longer.second_trace, 2);
  ASSERT_TRUE(longer.comparer.difference().has_value());
  EXPECT_EQ(longer.comparer.difference()->first, "the run was over");
}

TEST(DeterminismCheck, equal_events_with_another_ending_are_different) {
  Pair pair;
  pair.emit(pair.first_trace, 1);
  pair.recorder.finish(kernel::RunEnd::stopped);
  pair.emit(pair.second_trace, 1);
  pair.second_trace.fold(99);
  pair.comparer.finish(kernel::RunEnd::stopped);
  ASSERT_TRUE(pair.comparer.difference().has_value());
  EXPECT_NE(pair.comparer.difference()->second.find("after the same events"), std::string::npos);
}

}  // namespace
}  // namespace hooke::scenario
