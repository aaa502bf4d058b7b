// The published schema says of a file's form what the loader says; a second implementation of JSON
// Schema judges.
#include "scenarios/format/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "model/observe/background_tasks.h"
#include "model/observe/coverage_points.h"
#include "model/variant/defects.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/format/writer.h"
#include "test_files.h"

namespace hooke::scenario {
namespace {

using nlohmann::json;

class Validator {
 public:
  Validator() {
    valijson::SchemaParser parser;
    const valijson::adapters::NlohmannJsonAdapter adapter(json_);
    parser.populateSchema(adapter, schema_);
  }
  [[nodiscard]] bool accepts(const json& document) const {
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    return valijson::Validator().validate(schema_, adapter, nullptr);
  }
  [[nodiscard]] const json& source() const { return json_; }

 private:
  json json_ = json::parse(schema_text());
  valijson::Schema schema_;
};

const Validator& schema() {
  static const Validator kSchema;
  return kSchema;
}

const json& timeline_entry() {
  return schema().source()["properties"]["timeline"]["items"];
}

/// A scenario whose only timeline entry is `entry`.
json with_entry(const json& entry) {
  json scenario = json::parse(R"({
    "version": 1, "name": "x", 
    "protocol": {"rendezvous": {"backend": "etcd-v3", "min_nodes": 1, "max_nodes": 2}},
    "cluster": {"nodes": [{"id": "a..b"}], "store_host": "external"},
    "workers": {"per_node": 1, "program": []}})");
  scenario["timeline"] = json::array({entry});
  return scenario;
}

bool loads(const json& scenario) {
  try {
    static_cast<void>(load_scenario(scenario.dump(), "x"));
    return true;
  } catch (const ScenarioError&) {
    return false;
  }
}

struct Key {
  Parameter parameter;
  const char* name;
  json value;
};
const std::vector<Key>& keys() {
  static const std::vector<Key> kKeys{{kNode, "node", "a"},          {kPaths, "from", "a"},
                                      {kPaths, "to", "b"},           {kPaths, "one_way", true},
                                      {kLocalRank, "local_rank", 0}, {kSignal, "signal", "SIGINT"},
                                      {kFor, "for", "1s"},           {kBy, "by", "1s"},
                                      {kAmount, "amount", 1},        {kText, "text", "keep_alive"}};
  return kKeys;
}

json value_of(const Key& key, const Word& word) {
  return key.parameter == kText && word.text_is == TextIs::error ? json("OSError") : key.value;
}

/// The word with all that it requires.
json least_entry(const Word& word) {
  json entry{{"at", "1s"}, {"do", word.name}};
  for (const Key& key : keys()) {
    if ((word.required & key.parameter) != 0) entry[key.name] = value_of(key, word);
  }
  return entry;
}

TEST(Schema, accepts_every_scenario_of_the_library_and_what_the_writer_makes_of_it) {
  for (const auto& file : library_files()) {
    EXPECT_TRUE(schema().accepts(json::parse(contents(file)))) << file;
    const std::string written = write_scenario(load_scenario_file(file.string()));
    EXPECT_TRUE(schema().accepts(json::parse(written))) << file;
  }
}

/// Files of bad/ that are wrong by what they mean together, not by their form; no schema sees that.
const std::vector<std::string> kWrongByMeaning{"agent-kind-unknown",
                                               "core-at-after-the-end",
                                               "core-node-role",
                                               "core-node-unknown",
                                               "duration-eleven-years",
                                               "duration-huge",
                                               "expected-at-most-below-passage",
                                               "expected-count-reversed",
                                               "expected-coverage-point-unknown",
                                               "expected-event-unknown-coverage-point",
                                               "expected-event-unknown-field",
                                               "expected-event-unknown-node",
                                               "expected-event-unknown",
                                               "expected-event-window-reversed",
                                               "expected-sum-of-spans-and-numbers",
                                               "expected-sum-passage",
                                               "expected-sum-reversed",
                                               "expected-sum-unknown-field",
                                               "fault-after-the-time-limit",
                                               "fault-local-rank-range",
                                               "fault-node-named-twice",
                                               "fault-node-range-beyond",
                                               "fault-node-range-downwards",
                                               "fault-node-unknown",
                                               "fault-of-etcd-elsewhere",
                                               "fault-restart-of-an-inner-store",
                                               "fault-skew-too-far",
                                               "fault-thread-unknown",
                                               "group-named-like-a-node",
                                               "group-of-a-stranger",
                                               "heartbeat-finer-than-a-microsecond",
                                               "heartbeats-deadline-too-short",
                                               "heartbeats-too-often",
                                               "invariant-unknown",
                                               "keep-alive-for-centuries",
                                               "latency-p99-below-median",
                                               "launcher-unknown",
                                               "local-addr-of-several",
                                               "min-above-max",
                                               "monitor-too-short",
                                               "name-of-two-lines",
                                               "node-id-external",
                                               "node-id-role",
                                               "node-range-overlap",
                                               "node-range-padding-differs",
                                               "node-range-too-many",
                                               "node-start-after-the-time-limit",
                                               "node-start-backwards",
                                               "node-start-stagger-long",
                                               "node-twice",
                                               "node-variants-of-two-jobs",
                                               "nodes-too-many",
                                               "outcome-node-unknown",
                                               "outcome-overlap",
                                               "override-rank-padded",
                                               "override-rank-range",
                                               "override-two-slashes",
                                               "override-unknown-node",
                                               "restart-policy-needs-static",
                                               "restart-policy-option",
                                               "restart-policy-unknown",
                                               "rounds-min-above-max",
                                               "service-time-per-byte-huge",
                                               "store-host-unknown",
                                               "text-escape-sequence-of-one-character",
                                               "text-escape-sequence",
                                               "timer-option",
                                               "trigger-dangling",
                                               "trigger-field-unknown",
                                               "trigger-node-unknown"};

TEST(Schema, refuses_every_bad_file_whose_form_shows_it) {
  std::vector<std::string> accepted;
  for (const auto& file : files_below(bad_directory())) {
    const json document = json::parse(contents(file), nullptr, false);
    if (!document.is_discarded() && schema().accepts(document)) {
      accepted.push_back(file.stem().string());
    }
  }
  EXPECT_THAT(accepted, testing::ElementsAreArray(kWrongByMeaning));
}

TEST(Schema, lists_the_words_of_the_vocabulary_with_their_meanings) {
  const json& words = timeline_entry()["properties"]["do"]["anyOf"];
  ASSERT_EQ(words.size(), vocabulary().size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i]["const"], vocabulary()[i].name);
    EXPECT_EQ(words[i]["description"], vocabulary()[i].meaning);
  }
}

TEST(Schema, and_loader_agree_on_the_parameters_of_every_word) {
  for (const Word& word : vocabulary()) {
    const json least = least_entry(word);
    EXPECT_TRUE(schema().accepts(with_entry(least)) && loads(with_entry(least))) << least;
    for (const Key& key : keys()) {
      json entry = least;
      const bool known = ((word.required | word.optional) & key.parameter) != 0;
      entry[key.name] = value_of(key, word);
      EXPECT_EQ(schema().accepts(with_entry(entry)), known) << entry;
      EXPECT_EQ(loads(with_entry(entry)), known) << entry;
      if (!least.contains(key.name)) continue;
      entry = least;
      entry.erase(key.name);
      EXPECT_EQ(schema().accepts(with_entry(entry)), loads(with_entry(entry))) << entry;
    }
  }
}

TEST(Schema, and_loader_agree_on_how_much_a_word_takes) {
  for (const Word& word : vocabulary()) {
    if (((word.required | word.optional) & kAmount) == 0) continue;
    ASSERT_LT(word.amount.min, word.amount.max) << word.name;
    for (const auto& [amount, fits] : {std::pair{word.amount.min, true},
                                       {word.amount.max, true},
                                       {word.amount.min - 1, false},
                                       {word.amount.max + 1, false}}) {
      json entry = least_entry(word);
      entry["amount"] = amount;
      EXPECT_EQ(schema().accepts(with_entry(entry)), fits) << entry;
      EXPECT_EQ(loads(with_entry(entry)), fits) << entry;
    }
  }
}

TEST(Schema, and_loader_agree_on_which_spans_may_be_negative) {
  for (const Word& word : vocabulary()) {
    if (((word.required | word.optional) & kBy) == 0) continue;
    json entry = least_entry(word);
    entry["by"] = "-1s";
    EXPECT_EQ(schema().accepts(with_entry(entry)), word.negative_by) << entry;
    EXPECT_EQ(loads(with_entry(entry)), word.negative_by) << entry;
  }
}

TEST(Schema, lists_the_fault_points_and_the_defects) {
  const json& points = timeline_entry()["properties"]["when"]["properties"]["fault_point"]["enum"];
  EXPECT_EQ(points, json(std::vector(fault_points().begin(), fault_points().end())));
  EXPECT_EQ(schema().source()["properties"]["protocol"]["properties"]["defects"]["items"]["enum"],
            json(model::defect_names()));
}

TEST(Schema, proposes_the_coverage_points_and_the_background_tasks) {
  const json& source = schema().source()["properties"];
  EXPECT_EQ(source["expect"]["properties"]["coverage"]["items"]["examples"],
            json(model::coverage::kAll));
  json tasks;
  for (const json& rule : timeline_entry()["allOf"]) {
    if (rule["if"]["properties"]["do"]["const"] != "thread.dies") continue;
    tasks = rule["then"]["properties"]["text"]["examples"];
  }
  EXPECT_EQ(tasks, json(model::tasks::kAll));
}

/// Every object schema below `place` that lists properties: each has a description of its own or
/// refers to one.
void expect_descriptions(const json& place, const std::string& pointer) {
  if (!place.is_structured()) return;
  for (const auto& [key, child] : place.items()) {
    const std::string here = pointer + "/" + key;
    if (key == "if" || key == "then") continue;
    if (key == "properties") {
      for (const auto& [name, property] : child.items()) {
        EXPECT_TRUE(property.contains("description") || property.contains("$ref"))
            << here << "/" << name;
      }
    }
    expect_descriptions(child, here);
  }
}

TEST(Schema, describes_every_key_for_editors) {
  expect_descriptions(schema().source(), "");
}

}  // namespace
}  // namespace hooke::scenario
