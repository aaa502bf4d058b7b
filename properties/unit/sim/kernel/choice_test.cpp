// Choices: quiet is zero, draws are stable, tapes replay.
#include "sim/kernel/choice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/kernel/trace_recorder.h"

namespace hooke::kernel {
namespace {

RC_GTEST_PROP(Choice, a_draw_lies_below_its_bound, (std::uint64_t seed, std::uint64_t owner)) {
  SeededSource source(seed);
  const auto bound = *rc::gen::inRange<std::uint64_t>(1, UINT64_MAX);
  RC_ASSERT(source.choose({"test", owner, 1, 2}, bound) < bound);
}

TEST(Choice, a_quiet_source_always_answers_zero) {
  QuietSource source;
  EXPECT_EQ(source.choose({"test", 1, 2, 3}, 1000), 0U);
}

RC_GTEST_PROP(Choice, draws_of_one_stream_do_not_depend_on_those_of_another,
              (std::uint64_t seed, const std::vector<bool>& interleaving)) {
  SeededSource source(seed);
  Stream alone(source, "a", 1);
  Stream mixed(source, "a", 1);
  Stream other(source, "b", 2);
  for (const bool draw_other : interleaving) {
    if (draw_other) static_cast<void>(other.below(100));
    RC_ASSERT(alone.below(1000) == mixed.below(1000));
  }
}

TEST(Choice, small_bounds_are_drawn_evenly) {
  SeededSource source(1);
  Stream stream(source, "even", 0);
  std::vector<int> counts(10);
  for (int i = 0; i < 10'000; ++i) ++counts[stream.below(10)];
  for (const int count : counts) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(Choice, the_seeded_draws_never_change_between_releases) {
  SeededSource source(42);
  EXPECT_EQ(source.choose({"network.latency", 3, 7, 11}, 1'000'000), 865454U);
  EXPECT_EQ(source.choose({"kernel.schedule", 0, 0, 0}, 1'000'000), 667660U);
}

RC_GTEST_PROP(Choice, a_recorded_tape_replays_every_answer, (std::uint64_t seed)) {
  SeededSource seeded(seed);
  RecordingSource recording(seeded);
  std::vector<std::uint64_t> first;
  for (std::uint64_t i = 0; i < 50; ++i) first.push_back(recording.choose({"t", i % 3, 0, i}, 4));
  ReplaySource replay(recording.tape());
  for (std::uint64_t i = 0; i < 50; ++i) {
    RC_ASSERT(replay.choose({"t", i % 3, 0, i}, 4) == first[i]);
  }
}

TEST(Choice, a_tape_answers_zero_where_it_is_silent_and_stays_below_a_smaller_bound) {
  ReplaySource replay({{"t", 0, 0, 0, 7}});
  EXPECT_EQ(replay.choose({"t", 0, 0, 1}, 10), 0U);
  EXPECT_EQ(replay.choose({"t", 0, 0, 0}, 4), 3U);
}

TEST(TraceHash, differs_when_any_bit_of_any_word_differs) {
  TraceHash plain;
  plain.add(1);
  plain.add("abc");
  for (int bit = 0; bit < 64; ++bit) {
    TraceHash other;
    other.add(1 ^ (std::uint64_t{1} << bit));
    other.add("abc");
    EXPECT_FALSE(other == plain);
  }
  TraceHash longer;
  longer.add(1);
  longer.add("abcd");
  EXPECT_FALSE(longer == plain);
  EXPECT_EQ(plain.hex().size(), 32U);
}

}  // namespace
}  // namespace hooke::kernel
