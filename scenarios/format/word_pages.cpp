// The schema's rules of a word first, then its line on the page.
#include "scenarios/format/word_pages.h"

#include <string_view>
#include <vector>

#include "model/observe/background_tasks.h"
#include "model/observe/raised_errors.h"
#include "properties/invariants/fault_effects.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::scenario {
namespace {

using nlohmann::ordered_json;

/// What the schema says of the values of a word's parameters, beyond what it says of all.
ordered_json values_rule(const Word& word) {
  ordered_json out = ordered_json::object();
  if (word.takes(kBy)) {
    out["by"]["$ref"] =
        word.negative_by ? "#/definitions/signed_duration" : "#/definitions/duration";
  }
  if (word.takes(kAmount)) {
    out["amount"] = {{"minimum", word.amount.min}, {"maximum", word.amount.max}};
  }
  if (word.text_is == TextIs::background_task) {
    out["text"] = {
        {"description", "A background task of the agent; a path follows where it ends in a space"},
        {"examples", model::tasks::kAll}};
  }
  if (word.text_is == TextIs::error) {
    out["text"] = {{"description", "The class of the error"}, {"enum", model::raised::kAll}};
  }
  return out;
}

ordered_json rule(const Word& word) {
  std::vector<std::string> keys{"at", "when", "after", "do", "every", "times"};
  std::vector<std::string> needed;
  for (const ParameterKey& key : kParameterKeys) {
    if (word.takes(key.parameter)) keys.emplace_back(key.name);
    const bool implied = key.parameter == kNode;  // by the trigger
    if (word.needs(key.parameter) && key.needed && !implied) needed.emplace_back(key.name);
  }
  ordered_json then;
  then["propertyNames"]["enum"] = keys;
  if (!needed.empty()) then["required"] = needed;
  if (word.needs(kNode)) then["anyOf"] = {{{"required", {"node"}}}, {{"required", {"when"}}}};
  const ordered_json values = values_rule(word);
  if (!values.empty()) then["properties"] = values;
  ordered_json out;
  out["if"]["properties"]["do"]["const"] = word.name;
  out["then"] = then;
  return out;
}

/// "the store, the agent's clock": what a fault of the word's kind keeps an agent from.
std::string hindered(const Word& word) {
  const properties::FaultEffect* const effect = properties::find_effect(word.kind);
  std::string out;
  for (properties::Needs left = effect == nullptr ? 0 : effect->hinders; left != 0;
       left &= left - 1) {
    out += (out.empty() ? "" : ", ") + std::string(properties::name_of_first(left));
  }
  return out.empty() ? "nothing" : out;
}

/// "`node`, `for` (optional)".
std::string parameters(const Word& word) {
  std::string out;
  for (const ParameterKey& key : kParameterKeys) {
    if (!word.takes(key.parameter)) continue;
    out += (out.empty() ? "`" : ", `") + std::string(key.name) + "`";
    if (!word.needs(key.parameter) || !key.needed) out += " (optional)";
  }
  return out.empty() ? "none" : out;
}

std::string worlds(const Word& word) {
  if (word.etcd) return "simulated, with etcd";
  const std::string where = word.real ? "simulated, real" : "simulated";
  return word.external_store ? where + ", with an external store" : where;
}

}  // namespace

ordered_json schema_with_words(ordered_json schema) {
  ordered_json& entry = schema["properties"]["timeline"]["items"];
  ordered_json words = ordered_json::array();
  ordered_json rules = ordered_json::array();
  for (const Word& word : vocabulary()) {
    words.push_back({{"const", word.name}, {"description", word.meaning}});
    rules.push_back(rule(word));
  }
  entry["properties"]["do"]["anyOf"] = words;
  entry["properties"]["when"]["properties"]["fault_point"]["enum"] =
      std::vector<std::string>(fault_points().begin(), fault_points().end());
  entry["allOf"] = rules;
  return schema;
}

std::string words_page() {
  std::string out =
      "# Words of a timeline\n\n"
      "Made from the table in `format/fault_words.h`; a test compares. Names in backticks are "
      "parameters; a value in\nparentheses behind one is its default. Where a word takes `node` "
      "and "
      "a trigger names one, `node` may be left out.\n\n"
      "The last column says what the fault takes from an agent, or puts in its way\n"
      "(`properties/invariants/fault_effects.h`). An agent that is late is excused only if that "
      "kept it from what it owed.\n`nothing` excuses no agent: those that live must cope with such "
      "a fault, and an agent that is dead owes nothing.\n\n"
      "| word | what it does | parameters | worlds | hinders |\n|---|---|---|---|---|\n";
  for (const Word& word : vocabulary()) {
    out += "| `" + std::string(word.name) + "` | " + std::string(word.meaning) + " | " +
           parameters(word) + " | " + worlds(word) + " | " + hindered(word) + " |\n";
  }
  return out;
}

}  // namespace hooke::scenario
