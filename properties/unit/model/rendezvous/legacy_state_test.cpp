// The legacy rendezvous' state as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/rendezvous/legacy_etcd/state.h"

namespace hooke::model {
namespace {

using testing::HasSubstr;

TEST(LegacyState, is_written_as_pytorch_writes_it) {
  const std::string final_state =
      R"({"status": "final", "version": "1", "participants": [0, 1], "keep_alives": )"
      R"(["/torchelastic/p2p/run_legacy/rdzv/v_1/rank_0", "/torchelastic/p2p/run_legacy/rdzv/v_1/rank_1"], )"
      R"("num_workers_waiting": 0})";
  for (const std::string& text :
       {final_state, std::string(R"({"status": "setup"})"),
        std::string(R"({"status": "joinable", "version": "2", "participants": []})"),
        std::string(
            R"({"status": "frozen", "version": "2", "participants": [0], "keep_alives": []})")}) {
    EXPECT_EQ(encode_legacy_state(parse_legacy_state(text)), text);
  }
}

TEST(LegacyState, closing_keeps_whatever_was_there) {
  LegacyState state =
      parse_legacy_state(R"({"status": "joinable", "version": "3", "participants": [0]})");
  state.status = LegacyState::Status::closed;
  EXPECT_EQ(encode_legacy_state(state),
            R"({"status": "closed", "version": "3", "participants": [0]})");
}

TEST(LegacyState, what_a_stranger_has_written_is_refused_with_its_place) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse_legacy_state(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("x"), HasSubstr("no JSON at byte 1"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/status is missing"));
  EXPECT_THAT(refusal(R"({"status": "open"})"), HasSubstr("/status must be"));
  EXPECT_THAT(refusal(R"({"status": "joinable", "version": 1})"),
              HasSubstr("/version must be a text"));
  for (const char* version : {"", "-1", " 1", "1a", "9223372036854775808", "9223372036854775807"}) {
    EXPECT_THAT(refusal(R"({"status": "closed", "version": ")" + std::string(version) + "\"}"),
                HasSubstr("/version must be a whole number in digits, not"));
  }
  EXPECT_THAT(refusal(R"({"status": "joinable", "version": "1"})"),
              HasSubstr("/participants are needed"));
  EXPECT_THAT(refusal(R"({"status": "joinable", "version": "1", "participants": ["a"]})"),
              HasSubstr("/participants/0 must be a whole number"));
  EXPECT_THAT(refusal(R"({"status": "frozen", "version": "1", "participants": [0]})"),
              HasSubstr("/keep_alives is missing"));
  EXPECT_THAT(
      refusal(R"({"status": "final", "version": "1", "participants": [0], "keep_alives": ["k"]})"),
      HasSubstr("/num_workers_waiting is missing"));
  EXPECT_THAT(refusal(R"({"status": "final", "version": "1", "participants": [0],)"
                      R"( "keep_alives": ["k"], "num_workers_waiting": 9223372036854775807})"),
              HasSubstr("/num_workers_waiting must be a whole number of at most 53 bits"));
}

}  // namespace
}  // namespace hooke::model
