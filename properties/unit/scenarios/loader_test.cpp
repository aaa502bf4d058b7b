// What comes from outside is refused with one message that names the place, or loaded and written
// back unchanged.
#include "scenarios/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "scenarios/duration.h"
#include "scenarios/schema.h"
#include "scenarios/vocabulary.h"
#include "scenarios/writer.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

fs::path source_directory() {
  const char* directory = std::getenv("HOOKE_SOURCE_DIR");
  return directory == nullptr ? "." : directory;
}

std::string contents(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string refusal_of(std::string_view text, const std::string& source) {
  try {
    static_cast<void>(load_scenario(text, source));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "(loaded)";
}

/// Validates with an independent implementation of JSON Schema.
bool fits_schema(const nlohmann::json& document) {
  const nlohmann::json schema_json = nlohmann::json::parse(schema_text());
  valijson::Schema schema;
  valijson::SchemaParser parser;
  valijson::adapters::NlohmannJsonAdapter schema_adapter(schema_json);
  parser.populateSchema(schema_adapter, schema);
  valijson::adapters::NlohmannJsonAdapter adapter(document);
  return valijson::Validator().validate(schema, adapter, nullptr);
}

TEST(BadInput, every_file_of_the_corpus_is_refused_with_its_one_message) {
  const fs::path directory = source_directory() / "properties/unit/scenarios/bad";
  std::ifstream expected_file(directory / "expected.txt");
  std::ostringstream got;
  int count = 0;
  for (const fs::path& file : files_below(directory)) {
    const std::string message = refusal_of(contents(file), file.filename().string());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(file.filename().string() + ": ")) << message;
    EXPECT_NE(message.find("expected "), std::string::npos) << message;
    got << message << "\n";
    ++count;
  }
  EXPECT_GE(count, 40);
  std::ostringstream expected;
  expected << expected_file.rdbuf();
  EXPECT_EQ(got.str(), expected.str());
}

TEST(BadInput, a_file_of_100_MB_is_refused_by_its_size) {
  EXPECT_EQ(refusal_of(std::string(100'000'000, ' '), "big"),
            "big: byte 16777216: expected at most 16777216 bytes, got 100000000");
}

TEST(BadInput, nesting_of_a_hundred_thousand_is_refused_without_recursion) {
  EXPECT_NE(refusal_of(std::string(100'000, '['), "deep").find("expected nesting of at most 64"),
            std::string::npos);
}

TEST(BadInput, a_scenario_cut_at_any_byte_is_refused) {
  const std::string text =
      contents(source_directory() / "scenarios/library/smoke/late-joiner.json");
  ASSERT_GT(text.size(), 500U);
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    const std::string message = refusal_of(text.substr(0, length), "cut");
    ASSERT_TRUE(message.starts_with("cut: byte ")) << length << ": " << message;
  }
}

TEST(BadInput, a_slip_is_answered_with_the_nearest_word) {
  EXPECT_EQ(nearest("node.crsh", {"node.crash", "net.clog"}), "node.crash");
  EXPECT_EQ(nearest("completely-different", {"node.crash"}), std::nullopt);
}

TEST(Loader, every_scenario_of_the_library_survives_writing_and_loading_again) {
  const std::vector<fs::path> files = files_below(source_directory() / "scenarios/library");
  EXPECT_GE(files.size(), 24U);
  for (const fs::path& file : files) {
    const Scenario scenario = load_scenario_file(file.string());
    EXPECT_EQ(load_scenario(write_scenario(scenario), "again"), scenario) << file;
  }
}

TEST(Schema, accepts_every_scenario_of_the_library_and_what_the_writer_makes_of_it) {
  for (const fs::path& file : files_below(source_directory() / "scenarios/library")) {
    EXPECT_TRUE(fits_schema(nlohmann::json::parse(contents(file)))) << file;
    EXPECT_TRUE(
        fits_schema(nlohmann::json::parse(write_scenario(load_scenario_file(file.string())))))
        << file;
  }
}

TEST(Schema, refuses_what_is_wrong_in_form) {
  for (const char* name :
       {"unknown-key", "version-2", "name-missing", "seed-negative", "unit-missing", "nodes-empty",
        "step-unknown", "step-two", "fault-unknown", "outcome-unknown", "top-array"}) {
    const fs::path file =
        source_directory() / "properties/unit/scenarios/bad" / (std::string(name) + ".json");
    EXPECT_FALSE(fits_schema(nlohmann::json::parse(contents(file)))) << name;
  }
}

TEST(Schema, knows_the_same_faults_as_the_loader) {
  const nlohmann::json schema = nlohmann::json::parse(schema_text());
  const nlohmann::json& words =
      schema["properties"]["timeline"]["items"]["properties"]["do"]["enum"];
  ASSERT_EQ(words.size(), vocabulary().size());
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], vocabulary()[i].name);
}

TEST(Loader, ranges_of_nodes_count_letters_and_numbers) {
  EXPECT_EQ(expand_range("b..d"), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(expand_range("n9..n11"), (std::vector<std::string>{"n9", "n10", "n11"}));
  EXPECT_TRUE(expand_range("d..b").empty());
  EXPECT_TRUE(expand_range("a1..b2").empty());
  EXPECT_TRUE(expand_range("abc").empty());
}

TEST(Duration, has_a_unit_and_is_exact) {
  EXPECT_EQ(parse_duration("250us"), sim::Duration(250us));
  EXPECT_EQ(parse_duration("1.5s"), sim::Duration(1500ms));
  EXPECT_EQ(parse_duration("-20s"), sim::Duration(-20s));
  EXPECT_EQ(parse_duration("0.000000001s"), sim::Duration(1ns));
  for (const char* wrong :
       {"", "5", "s", "5 s", "1.s", ".5s", "5S", "1.5ns", "1e3s", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
  for (const sim::Duration span :
       {sim::Duration(0s), sim::Duration(90min), sim::Duration(-1ns), sim::Duration(61s)}) {
    EXPECT_EQ(parse_duration(duration_text(span)), span);
  }
}

}  // namespace
}  // namespace hooke::scenario
