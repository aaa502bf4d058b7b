// Why a scenario fails, in words for a reader that sees them for the first time.
#include "reports/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace hooke::report {
namespace {

using testing::HasSubstr;
using testing::Not;

/// As a terminal shows it: a character of UTF-8 takes one column.
std::ptrdiff_t columns(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

Explanation of_close_authority() {
  Explanation out;
  out.invariant = "safety.close_authority";
  out.meaning =
      "A rendezvous is closed only by an agent that knows that the job is over, because no other "
      "agent of the job can join a round from then on, whatever it has left to do.";
  out.story.witness = "b closed the rendezvous of a";
  return out;
}

TEST(Explanation, wraps_all_of_its_sentences) {
  Style style;
  style.width = 70;
  std::stringstream lines(story_text(of_close_authority(), style));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 70) << line;
}

TEST(Explanation, of_another_incident_promises_no_mend) {
  const std::string text = story_text(of_close_authority(), Style{});
  EXPECT_THAT(text, HasSubstr("similar published incidents, perhaps not this one: "));
  EXPECT_THAT(text, HasSubstr("hooke help safety.close_authority"));
  EXPECT_THAT(text, Not(HasSubstr("mended by")));
}

TEST(Explanation, says_of_which_runs_the_point_of_no_return_tells) {
  Explanation explanation = of_close_authority();
  explanation.no_return.complete = true;
  explanation.no_return.futures.push_back(
      {sim::WorldTime{std::chrono::seconds(60)}, {10, 10}, {7, 10}});
  const std::string text = no_return_text(explanation, Style{});
  EXPECT_THAT(text, HasSubstr("how many of 10 re-runs fail that have the same past up to a moment\n"
                              "same past up to  with the later faults         without them\n"
                              "       60.000 s  "));
  explanation.no_return.futures.front().left_alone = {};
  EXPECT_THAT(no_return_text(explanation, Style{}),
              HasSubstr("same past up to  failing re-runs\n"));
}

}  // namespace
}  // namespace hooke::report
