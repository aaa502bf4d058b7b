#include "model/etcd/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hooke::model {
namespace {

using nlohmann::json;

const std::vector<std::string>& plain_texts() {
  static const std::vector<std::string> kTexts{
      "{}",
      "[]",
      " {\t\"a\" :\r\n[ ] } ",
      R"({"action":"get","node":{"key":"/a","value":"x","modifiedIndex":12,"createdIndex":0}})",
      R"({"a":{"b":[1,-2,[],{}],"c":true,"d":false,"e":null},"a":"the last one counts"})",
      R"(["\"\\\/\b\f\n\r\t", "eight or more characters in a row, then a quote \" and more"])",
      R"([123456789012345678,-123456789012345678,0,-0])",
      "[18446744073709551615,-9223372036854775808]",
      "[\"\xc3\xa4\"]",
      std::string(300, '[') + std::string(300, ']'),
  };
  return kTexts;
}

const std::vector<std::string>& other_texts() {
  static const std::vector<std::string> kTexts{
      "",
      "12",
      "null",
      R"("text")",
      "{",
      "[1,]",
      "[1 2]",
      R"({"a"})",
      R"({"a":1,})",
      R"({a:1})",
      "[01]",
      "[-]",
      "[1.5]",
      "[1e3]",
      "[18446744073709551616]",
      "[-9223372036854775809]",
      R"(["\udc00"])",
      R"(["\ud800"])",
      "[\"\xed\xa0\x80\"]",
      "[tru]",
      "[nul",
      R"(["unfinished)",
      R"(["\u00e4"])",
      R"(["\x"])",
      "[\"\xff\"]",
      std::string("[\"a\0b\"]", 7),
      std::string("[]\0[", 4),
      "[\"a\nb\"]",
      "[]]",
      "{} {}",
      "\xef\xbb\xbf[]",
  };
  return kTexts;
}

TEST(JsonText, plain_texts_are_read_as_by_nlohmann_json) {
  for (const std::string& text : plain_texts()) {
    const auto read = plain_json(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, json::parse(text)) << text;
    EXPECT_EQ(read->dump(), json::parse(text).dump()) << text;
    EXPECT_EQ(json_or_discarded(text), json::parse(text)) << text;
  }
}

TEST(JsonText, what_is_not_plain_is_left_to_nlohmann_json) {
  for (const std::string& text : other_texts()) {
    EXPECT_FALSE(plain_json(text).has_value()) << text;
    const json wanted = json::parse(text, nullptr, false);
    const json read = json_or_discarded(text);
    EXPECT_EQ(read.is_discarded(), wanted.is_discarded()) << text;
    if (wanted.is_discarded()) continue;
    EXPECT_EQ(read, wanted) << text;
  }
}

TEST(JsonText, numbers_have_the_types_that_nlohmann_json_gives_them) {
  const std::string text = "[1,-1,0,-0,4294967296,-4294967296,18446744073709551615]";
  const auto read = plain_json(text);
  ASSERT_TRUE(read.has_value());
  const json wanted = json::parse(text);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(read->at(i).type(), wanted.at(i).type()) << wanted.at(i);
  }
}

TEST(JsonText, documents_are_written_as_by_nlohmann_json) {
  std::vector<std::string> texts = plain_texts();
  for (const std::string& text : other_texts()) {
    if (json::accept(text)) texts.push_back(text);
  }
  for (const std::string& text : texts) {
    EXPECT_EQ(json_text(json::parse(text)), json::parse(text).dump()) << text;
    const auto ordered = nlohmann::ordered_json::parse(text);
    EXPECT_EQ(json_text(ordered), ordered.dump()) << text;
  }
}

TEST(JsonText, each_character_is_written_as_by_nlohmann_json_at_each_place) {
  for (int code = 0; code < 128; ++code) {
    for (std::size_t place = 0; place < 17; ++place) {
      std::string text(17, 'a');
      text[place] = static_cast<char>(code);
      std::string out = "before";
      append_json_text(out, text);
      const std::string wanted = json(text).dump();
      ASSERT_EQ(out, "before" + wanted) << code << " at " << place;
      const auto read = plain_json("[" + wanted + "]");
      if (!read) continue;
      ASSERT_EQ(read->at(0), text) << code << " at " << place;
    }
  }
}

TEST(JsonText, what_is_not_utf8_cannot_be_written) {
  std::string out;
  EXPECT_THROW(append_json_text(out, "value \xff"), json::type_error);
  append_json_text(out, "\xc3\xa4");
  EXPECT_EQ(out, "\"\xc3\xa4\"");
}

}  // namespace
}  // namespace hooke::model
