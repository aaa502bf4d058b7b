// The line of a heartbeat.
#include "model/heartbeat/beat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace hooke::model {
namespace {

using testing::HasSubstr;

TEST(Beat, is_one_line_that_any_program_can_write) {
  EXPECT_EQ(encode_beat({"0-12", 7, false}), R"({"worker": "0-12", "beat": 7})");
  EXPECT_EQ(encode_beat({"é", 8, true}), R"({"worker": "\u00e9", "beat": 8, "last": true})");
  EXPECT_EQ(encode_beat({"w", 9, false, true}), R"({"worker": "w", "beat": 9, "peers": true})");
  EXPECT_EQ(parse_beat(R"( {"beat":3,"worker":"w","last":false,"more":[1]} )"), (Beat{"w", 3}));
}

TEST(Beat, what_is_wrong_is_named) {
  const auto refusal = [](const std::string& line) -> std::string {
    try {
      static_cast<void>(parse_beat(line));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("beat"), HasSubstr("no JSON at byte 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a JSON object was expected"));
  EXPECT_THAT(refusal(R"({"beat": 1})"), HasSubstr("/worker must be a name of 1 to 256 bytes"));
  EXPECT_THAT(refusal(R"({"worker": "", "beat": 1})"), HasSubstr("/worker"));
  EXPECT_THAT(refusal(R"({"worker": ")" + std::string(257, 'w') + R"(", "beat": 1})"),
              HasSubstr("/worker"));
  EXPECT_THAT(refusal(R"({"worker": "w"})"), HasSubstr("/beat must be a whole number"));
  EXPECT_THAT(refusal(R"({"worker": "w", "beat": -1})"), HasSubstr("/beat"));
  EXPECT_THAT(refusal(R"({"worker": "w", "beat": 1.5})"), HasSubstr("/beat"));
  EXPECT_THAT(refusal(R"({"worker": "w", "beat": 1, "last": 1})"), HasSubstr("/last"));
  EXPECT_THAT(refusal(R"({"worker": "w", "beat": 1, "peers": 1})"), HasSubstr("/peers"));
  EXPECT_THAT(refusal(R"({"worker": "w", "beat": 1e999})"), HasSubstr("a number is too large"));
}

RC_GTEST_PROP(Beat, comes_back_as_it_was_written, (std::uint64_t count, bool last, bool asks)) {
  const std::string worker =
      "w" + *rc::gen::resize(200, rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  const Beat beat{worker, count, last, asks};
  RC_ASSERT(parse_beat(encode_beat(beat)) == beat);
}

}  // namespace
}  // namespace hooke::model
