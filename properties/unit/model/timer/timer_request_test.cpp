// The lines of a timer file.
#include "model/timer/timer_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(TimerRequest, is_written_as_pytorch_writes_it) {
  EXPECT_EQ(encode_timer_request({4242, "train.py#17", sim::WallTime(1795204403187ms), 9}),
            R"({"version": 1, "pid": 4242, "scope_id": "train.py#17", )"
            R"("expiration_time": 1795204403.187, "signal": 9})");
  EXPECT_EQ(
      encode_timer_request({7, "schön", std::nullopt, 9}),
      R"({"version": 1, "pid": 7, "scope_id": "sch\u00f6n", "expiration_time": -1, "signal": 0})");
}

TEST(TimerRequest, a_deadline_of_zero_has_expired_and_a_negative_one_releases) {
  const auto with = [](const std::string& deadline) {
    return parse_timer_request(R"({"pid": 1, "scope_id": "s", "expiration_time": )" + deadline +
                               R"(, "signal": 9})");
  };
  EXPECT_EQ(with("0").expires, sim::WallTime{});
  EXPECT_EQ(with("-0.5").expires, std::nullopt);
  EXPECT_EQ(with("1.5").expires, sim::WallTime(1500ms));
  EXPECT_EQ(with("1e300").expires, sim::WallTime(9'000'000'000s))
      << "in the year 2255, which is never";
}

TEST(TimerRequest, what_pytorch_passes_over_is_passed_over) {
  const TimerRequest read = parse_timer_request(
      R"({"version": "none", "pid": 1, "x": [], "scope_id": "", "expiration_time": -1, "signal": 0})");
  EXPECT_EQ(read, (TimerRequest{1, "", std::nullopt, 0}));
}

TEST(TimerRequest, what_is_wrong_is_named) {
  const auto refusal = [](const std::string& line) -> std::string {
    try {
      static_cast<void>(parse_timer_request(line));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("stop that"), HasSubstr("no JSON at byte 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a JSON object was expected"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/pid is missing"));
  EXPECT_THAT(refusal(R"({"pid": 1e999})"), HasSubstr("a number is too large"));
  EXPECT_THAT(refusal(R"({"pid": 1.5})"), HasSubstr("/pid must be a whole number"));
  EXPECT_THAT(refusal(R"({"pid": 99999999999999999999})"),
              HasSubstr("/pid must be a whole number"));
  EXPECT_THAT(refusal(R"({"pid": 1, "scope_id": 2})"), HasSubstr("/scope_id must be a text"));
  EXPECT_THAT(refusal(R"({"pid": 1, "scope_id": "", "expiration_time": "1", "signal": 9})"),
              HasSubstr("/expiration_time must be a number of seconds"));
  EXPECT_THAT(refusal(R"({"pid": 1, "scope_id": "", "expiration_time": 1, "signal": 9e9})"),
              HasSubstr("/signal must be a whole number"));
  EXPECT_LT(refusal(std::string(100'000, 'x')).size(), 200U);
  EXPECT_THAT(refusal("\xff\xfe"), HasSubstr("no JSON at byte 1"));
}

RC_GTEST_PROP(TimerRequest, comes_back_as_it_went, ()) {
  TimerRequest request;
  request.worker_id = *rc::gen::inRange<std::int64_t>(1, 1 << 22);
  request.scope_id = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  if (*rc::gen::arbitrary<bool>()) {
    request.expires =
        sim::WallTime(std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(0, 1LL << 51)));
    request.signal = *rc::gen::inRange(0, 32);
  } else {
    request.signal = 0;
  }
  const std::string line = encode_timer_request(request);
  RC_ASSERT(line.find('\n') == std::string::npos);
  RC_ASSERT(parse_timer_request(line) == request);
}

}  // namespace
}  // namespace hooke::model
