// The table of words is what the schema, the page and the real world say of them. With
// HOOKE_RECORD_WORDS=1 the two files are written anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "properties/unit/scenarios/test_files.h"
#include "scenarios/format/json_layout.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/format/word_pages.h"

namespace hooke::scenario {
namespace {

void expect_file(const std::string& name, const std::string& text) {
  const std::filesystem::path path = source_directory() / name;
  if (std::getenv("HOOKE_RECORD_WORDS") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(contents(path), text)
      << name << " differs from the table of words: HOOKE_RECORD_WORDS=1 writes it anew";
}

TEST(Words, are_in_the_schema_as_the_table_has_them) {
  const auto schema = nlohmann::ordered_json::parse(
      contents(source_directory() / "scenarios/scenario.schema.json"));
  expect_file("scenarios/scenario.schema.json", laid_out(schema_with_words(schema)));
}

TEST(Words, are_on_the_page_as_the_table_has_them) {
  expect_file("scenarios/words.md", words_page());
}

TEST(Words, that_stand_for_a_default_fill_it_in_and_leave_what_is_said) {
  TimelineEntry entry;
  entry.what = "worker.exit";
  const Word& word = *find_word(entry.what);
  EXPECT_EQ(with_usual(word, entry).amount, 1);
  entry.amount = 7;
  EXPECT_EQ(with_usual(word, entry).amount, 7);
  EXPECT_EQ(with_usual(*find_word("agent.kill"), {}).signal, "SIGKILL");
  EXPECT_EQ(with_usual(*find_word("node.crash"), {}).duration, std::nullopt);
}

TEST(Words, that_swarm_draws_an_amount_for_can_take_what_it_draws) {
  for (const Word& word : vocabulary()) {
    if (!word.takes(kAmount)) continue;
    EXPECT_LE(word.drawn.low, word.drawn.high) << word.name;
    EXPECT_LE(word.drawn.low * word.drawn.unit, word.amount.max) << word.name;
    EXPECT_GE(word.drawn.high * word.drawn.unit, word.amount.min) << word.name;
  }
}

TEST(Words, of_etcd_come_last_and_happen_in_no_real_world) {
  EXPECT_FALSE(words_of_every_store().empty());
  for (const Word& word : vocabulary().subspan(words_of_every_store().size())) {
    EXPECT_TRUE(word.etcd) << word.name;
    EXPECT_FALSE(word.real) << word.name;
  }
}

}  // namespace
}  // namespace hooke::scenario
