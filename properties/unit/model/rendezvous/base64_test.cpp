// Base64 as Python's base64 module reads and writes it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/rendezvous/state/state_codec.h"
#include "properties/unit/model/rendezvous/state_fixtures.h"

namespace hooke::model {
namespace {

std::string encoded(const std::string& bytes) {
  return base64_encode(sim::Value(bytes)).bytes();
}
std::string decoded(const std::string& text) {
  return base64_decode(sim::Value(text)).bytes();
}

TEST(Base64, writes_the_standard_alphabet_with_padding_and_without_line_breaks) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("\xfb\xef\xff"), "++//");
  EXPECT_EQ(encoded(std::string(3, '\0')), "AAAA");
  EXPECT_EQ(encoded(std::string(200, 'x')).find('\n'), std::string::npos);
}

TEST(Base64, reads_the_text_that_means_no_state_in_the_c10d_store) {
  EXPECT_EQ(decoded("Y2FuaW1hZGFt"), "canimadam");
}

TEST(Base64, of_every_recorded_state_is_the_recorded_text) {
  for (const auto& blob : recorded_states()) {
    const std::string bytes = from_hex(blob.at("pickle_hex"));
    EXPECT_EQ(encoded(bytes), blob.at("base64")) << blob.at("name");
    EXPECT_EQ(decoded(blob.at("base64")), bytes) << blob.at("name");
  }
}

TEST(Base64, skips_characters_outside_its_alphabet_as_python_does) {
  EXPECT_EQ(decoded("Zm\n9v\r\n"), "foo");
  EXPECT_EQ(decoded(" Z-m_9.v "), "foo");
  EXPECT_EQ(decoded("Zg=\n="), "f");
}

TEST(Base64, ends_at_the_first_complete_padding_as_python_does) {
  EXPECT_EQ(decoded("Zg==Zm9v"), "f");
  EXPECT_EQ(decoded("Zm8=Zm9v"), "fo");
  EXPECT_EQ(decoded("=Zm9v"), "foo") << "padding that ends nothing is skipped";
  EXPECT_EQ(decoded("Z=g=="), "f");
  EXPECT_EQ(decoded("Zm=9v"), "foo") << "half a padding is skipped too";
}

TEST(Base64, without_its_padding_is_refused_with_the_place) {
  for (const std::string text : {"Zg", "Zg=", "Zm8", "Z", "Zm9vZ", "Z==="}) {
    try {
      ADD_FAILURE() << text << " was read as " << decoded(text);
    } catch (const Base64Error& error) {
      EXPECT_NE(std::string(error.what()).find("byte " + std::to_string(text.size())),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Base64, gives_back_the_very_value_that_was_encoded) {
  const sim::Value inner("a state");
  const sim::Value text = base64_encode(inner);
  EXPECT_EQ(base64_decode(text).payload(), inner.payload());
  EXPECT_EQ(base64_decode(sim::Value()).bytes(), "");
}

RC_GTEST_PROP(Base64, reads_what_it_wrote_and_knows_the_length_before, (const std::string& bytes)) {
  const sim::Value text = base64_encode(sim::Value(bytes));
  const std::size_t size = text.size();
  RC_ASSERT(size == text.bytes().size());
  RC_ASSERT(decoded(text.bytes()) == bytes);
}

}  // namespace
}  // namespace hooke::model
