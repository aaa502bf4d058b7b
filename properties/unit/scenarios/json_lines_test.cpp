// The lines of a file that a verdict names.
#include "scenarios/format/json_lines.h"

#include <gtest/gtest.h>

namespace hooke::scenario {
namespace {

constexpr std::string_view kLines = R"({
  "description": "brackets ] } and \"quotes\", \\",
  "expect": {
    "outcome": {
      "n1..n4": "succeeded",
      "rack.7": "failed"
    },
    "rounds": {"min": 2,
               "max": 3},
    "never": [{"event": "a", "fields": {"x": [1, 2]}},
              {"event": "b"}, "{",
              []]
  }
})";

TEST(LineOf, is_that_of_the_key_or_of_the_element) {
  EXPECT_EQ(line_of(kLines, "expect"), 3U);
  EXPECT_EQ(line_of(kLines, "expect.rounds"), 8U);
  EXPECT_EQ(line_of(kLines, "expect.rounds.min"), 8U);
  EXPECT_EQ(line_of(kLines, "expect.rounds.max"), 9U);
  EXPECT_EQ(line_of(kLines, "expect.never.0"), 10U);
  EXPECT_EQ(line_of(kLines, "expect.never.1.event"), 11U);
  EXPECT_EQ(line_of(kLines, "expect.never.3"), 12U);
}

TEST(LineOf, finds_a_key_that_has_dots_of_its_own) {
  EXPECT_EQ(line_of(kLines, "expect.outcome.rack.7"), 6U);
  EXPECT_EQ(line_of(kLines, "expect.outcome.n1..n4"), 5U);
}

TEST(LineOf, is_none_for_what_is_not_there) {
  for (const char* const path :
       {"", "expected", "expect.never.4", "expect.rounds.min.x", "description.0", "expect.holds"}) {
    EXPECT_EQ(line_of(kLines, path), std::nullopt) << path;
  }
}

TEST(LineOf, ends_on_a_broken_text) {
  for (std::size_t size = 0; size < kLines.size(); ++size) {
    static_cast<void>(line_of(kLines.substr(0, size), "expect.never.9"));
    static_cast<void>(line_of(kLines.substr(size), "expect.never.9"));
  }
}

TEST(NearestLineOf, is_that_of_the_value_around_what_is_not_there) {
  EXPECT_EQ(nearest_line_of(kLines, "expect.outcome.n3"), 4U);
  EXPECT_EQ(nearest_line_of(kLines, "expect.rounds.min"), 8U);
  EXPECT_EQ(nearest_line_of(kLines, "safety.bounds"), std::nullopt);
  EXPECT_EQ(nearest_line_of(kLines, "nothing.at.all"), std::nullopt);
}

}  // namespace
}  // namespace hooke::scenario
