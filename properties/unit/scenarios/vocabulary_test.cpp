// The vocabulary names what exists: words that can be carried out, points that code passes.
#include "scenarios/format/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "model/observe/background_tasks.h"
#include "model/observe/coverage_points.h"
#include "model/observe/event_registry.h"
#include "sim/world/world_event_registry.h"
#include "test_files.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;

TEST(Vocabulary, names_each_word_once_and_finds_it) {
  std::set<std::string_view> seen;
  for (const Word& word : vocabulary()) {
    EXPECT_TRUE(seen.insert(word.name).second) << word.name;
    EXPECT_EQ(find_word(word.name), &word);
    EXPECT_FALSE(word.meaning.empty()) << word.name;
    EXPECT_EQ(word.required & word.optional, 0U) << word.name;
  }
  EXPECT_EQ(find_word("node"), nullptr);
  EXPECT_EQ(find_word(""), nullptr);
}

TEST(Vocabulary, says_how_much_for_each_word_that_takes_an_amount_and_for_no_other) {
  for (const Word& word : vocabulary()) {
    const bool takes = ((word.required | word.optional) & kAmount) != 0;
    EXPECT_EQ(takes, word.amount.min < word.amount.max) << word.name;
  }
}

TEST(Vocabulary, lists_exactly_the_fault_points_that_the_model_passes) {
  const std::regex reach(R"re(fault_point\s*\.\s*reach\(\s*"([^"]+)")re");
  std::set<std::string> passed;
  for (const auto& entry : fs::recursive_directory_iterator(source_directory() / "model")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    const std::string text = contents(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), reach), end; match != end; ++match) {
      passed.insert((*match)[1].str());
    }
  }
  const std::set<std::string> listed(fault_points().begin(), fault_points().end());
  EXPECT_EQ(listed, passed);
}

TEST(Vocabulary, says_of_every_fault_point_where_it_is) {
  std::set<std::string_view> meanings;
  for (const std::string_view point : fault_points()) {
    EXPECT_TRUE(meaning_of_fault_point(point).ends_with(".")) << point;
    EXPECT_TRUE(meanings.insert(meaning_of_fault_point(point)).second) << point;
  }
  EXPECT_EQ(meaning_of_fault_point("no.such_point"), "");
}

/// Whether a file below model/ matches, and which.
std::vector<std::string> model_files_with(const std::string& pattern) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(source_directory() / "model")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    if (std::regex_search(contents(entry.path()), std::regex(pattern))) {
      found.push_back(entry.path().filename().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Vocabulary, every_coverage_point_is_set_by_its_name_in_the_table) {
  EXPECT_EQ(model_files_with(R"re(events::coverage_point,\s*\{\s*")re"),
            std::vector<std::string>());
  for (const std::string_view mark : model::coverage::kAll) EXPECT_FALSE(mark.empty());
}

TEST(Vocabulary, every_background_task_of_an_agent_has_its_name_in_the_table) {
  // Those of servers and workers, which "thread.dies" does not reach.
  EXPECT_EQ(model_files_with(R"re(spawn\(\s*")re"),
            (std::vector<std::string>{"heartbeat_client.cpp", "v2_server.cpp", "v3_server.cpp",
                                      "worker_pool.cpp"}));
  EXPECT_TRUE(model::tasks::can_be("keep_alive"));
  EXPECT_TRUE(model::tasks::can_be("refresh /rdzv/active_version"));
  EXPECT_FALSE(model::tasks::can_be("refresh "));
  EXPECT_FALSE(model::tasks::can_be("keep_alive 2"));
  EXPECT_FALSE(model::tasks::can_be(""));
}

TEST(Vocabulary, no_event_has_a_field_that_a_trigger_uses_for_itself) {
  auto types = model::all_event_types();
  for (const sim::EventType* type : world::all_event_types()) types.push_back(type);
  for (const sim::EventType* type : types) {
    // Its passage is just what a trigger means by that word.
    if (type->name == "fault_point.passed") continue;
    for (std::size_t i = 0; i < type->field_count; ++i) {
      for (const std::string_view own :
           {"event", "node", "passage", "fault_point", "not_before", "not_after"}) {
        EXPECT_NE(type->fields[i], own) << type->name;
      }
    }
  }
}

}  // namespace
}  // namespace hooke::scenario
