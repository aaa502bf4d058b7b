// What is said of the time that is left, against work whose real time is known.
#include "reports/pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// What is left of 1,000 tasks, after `at` of work that is asked five times in a second. `by`: the
/// tasks over by a time in seconds.
std::optional<Pace::Span> left_at(nanoseconds at, const std::function<double(double)>& by) {
  Pace pace;
  for (nanoseconds now{}; now <= at; now += 200ms) {
    pace.see(now, static_cast<std::uint64_t>(by(static_cast<double>(now.count()) / 1e9)));
  }
  return pace.left(1000);
}

TEST(Pace, says_nothing_before_there_is_a_basis) {
  const auto even = [](double seconds) { return seconds * 20; };
  EXPECT_FALSE(Pace().left(1000));
  EXPECT_FALSE(left_at(2800ms, even));
  EXPECT_TRUE(left_at(4s, even));
  EXPECT_FALSE(left_at(8s, [](double seconds) { return seconds; })) << "nine tasks";
  EXPECT_FALSE(left_at(9s, [](double seconds) { return seconds < 6 ? 30 : 50; }))
      << "a third of the time in which no task was over";
}

TEST(Pace, of_even_work_is_one_number) {
  const auto left = left_at(10s, [](double seconds) { return seconds * 20; });  // over at 50 s
  ASSERT_TRUE(left);
  EXPECT_NEAR(static_cast<double>(left->least.count()), 40e9, 2e9);
  EXPECT_EQ(left_text(left, std::nullopt), "about 41 s left");
}

TEST(Pace, of_work_that_becomes_slow_spans_what_it_takes) {
  // 40 tasks in a second for four seconds, then 20: over at 46 s. The rate so far says 30 s.
  const auto left = left_at(12s, [](double s) { return s < 4 ? s * 40 : 160 + (s - 4) * 20; });
  ASSERT_TRUE(left);
  EXPECT_LT(left->least, 18s);
  EXPECT_GT(left->most, 33s);
  EXPECT_EQ(left_text(left, std::nullopt), "17 s to 35 s left at this pace");
}

TEST(Pace, of_another_phase_begins_anew) {
  Pace pace;
  for (std::uint64_t i = 0; i <= 50; ++i) pace.see(i * 200ms, i * 10);
  EXPECT_TRUE(pace.left(1000));
  pace.see(10200ms, 1);
  EXPECT_FALSE(pace.left(1000));
}

TEST(Pace, is_bounded_by_the_time_that_was_given) {
  EXPECT_EQ(left_text(std::nullopt, std::nullopt), "");
  EXPECT_EQ(left_text(std::nullopt, 7500ms), "8 s left by --time");
  const Pace::Span span{20s, 40s};
  EXPECT_EQ(left_text(span, 10s), "10 s left by --time");
  EXPECT_EQ(left_text(span, 30s), "20 s to 30 s left at this pace");
  EXPECT_EQ(left_text(Pace::Span{10min, 11min}, std::nullopt), "about 11 min left");
  EXPECT_EQ(left_text(Pace::Span{10h, 15h}, std::nullopt), "10.0 h to 15.0 h left at this pace");
}

}  // namespace
}  // namespace hooke::report
