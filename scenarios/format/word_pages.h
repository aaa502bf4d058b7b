#pragma once
// What the table of words says elsewhere: in the schema, and on the page for people. Both are
// committed as files; a test compares them with this.

#include <nlohmann/json.hpp>
#include <string>

namespace hooke::scenario {

/// The schema with the words, their parameters and the fault points of the table, whatever stood in
/// their places before. The rest stays.
nlohmann::ordered_json schema_with_words(nlohmann::ordered_json schema);
/// scenarios/words.md: a line for each word.
std::string words_page();

}  // namespace hooke::scenario
