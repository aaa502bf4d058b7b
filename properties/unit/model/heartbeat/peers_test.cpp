// The two encodings of which workers live.
#include "model/heartbeat/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace hooke::model {
namespace {

using enum WorkerLife;

TEST(Peers, are_one_line_that_any_program_can_read) {
  const WorkerLives lives{alive, alive, unknown, silent, ended};
  const std::string line = R"({"alive": [0, 1], "silent": [3], "ended": [4], "unknown": [2]})";
  EXPECT_EQ(encode_peers(lives), line);
  EXPECT_EQ(parse_peers(line), lives);
  EXPECT_EQ(parse_peers(R"({"unknown":[1],"alive":[0],"more":1})"), (WorkerLives{alive, unknown}));
  EXPECT_EQ(parse_peers(encode_peers({})), WorkerLives());
}

TEST(Peers, what_is_wrong_is_named) {
  const auto refusal = [](const std::string& line) -> std::string {
    try {
      static_cast<void>(parse_peers(line));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("["), "the list of workers: a JSON object was expected");
  EXPECT_EQ(refusal(R"({"alive": 1})"), "the list of workers: /alive must be a list of ranks");
  EXPECT_EQ(refusal(R"({"ended": [-1]})"), "the list of workers: /ended must be a list of ranks");
  EXPECT_EQ(refusal(R"({"silent": [99999999]})"),
            "the list of workers: /silent must be a list of ranks");
  EXPECT_EQ(refusal(R"({"alive": [0], "silent": [0]})"),
            "the list of workers: rank 0 is in two lists");
  EXPECT_EQ(refusal(R"({"alive": [1]})"), "the list of workers: rank 0 is in no list");
}

TEST(Peers, of_one_agent_are_a_short_text_for_the_others) {
  const ToldByAgent told{4, 17, {alive, silent, ended, unknown}};
  EXPECT_EQ(encode_told(told), "4 17 aseu");
  EXPECT_EQ(parse_told("4 17 aseu"), told);
  EXPECT_EQ(parse_told("4 17 "), (ToldByAgent{4, 17, {}}));
  for (const char* text : {"", "4", "4 ", "4 17", "-1 17 a", "4 17 x", "a 17 a", "4 -1 a"}) {
    EXPECT_EQ(parse_told(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hooke::model
