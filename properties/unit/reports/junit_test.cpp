// What CI systems read: JUnit XML, by the rules that Jenkins' xUnit plug-in checks files with
// (junit-10.xsd, in the version that gives a test case its file and line).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>

#include "reports/exports/campaign_junit.h"
#include "reports/machine.h"

namespace hooke::report {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of an element: attributes that it must have, those it may have, and its children in their order.
struct Rule {
  std::vector<std::string> needed, allowed, children;
};

const std::map<std::string, Rule>& schema() {
  static const std::map<std::string, Rule> rules{
      {"testsuites", {{}, {"name", "time", "tests", "failures", "errors"}, {"testsuite"}}},
      {"testsuite",
       {{"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"properties", "testcase", "system-out", "system-err"}}},
      {"properties", {{}, {}, {"property"}}},
      {"property", {{"name", "value"}, {}, {}}},
      {"testcase",
       {{"name"},
        {"time", "classname", "file", "line", "group", "status", "url"},
        {"skipped", "error", "failure", "system-out", "system-err"}}},
      {"failure", {{}, {"type", "message"}, {}}},
      {"error", {{}, {"type", "message"}, {}}},
      {"skipped", {{}, {"type", "message"}, {}}},
  };
  return rules;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void expect_valid(const pugi::xml_node& node) {
  const std::string name = node.name();
  ASSERT_TRUE(schema().contains(name)) << name;
  const Rule& rule = schema().at(name);
  for (const std::string& needed : rule.needed) {
    EXPECT_TRUE(node.attribute(needed.c_str())) << name << " without " << needed;
  }
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    EXPECT_TRUE(has(rule.needed, attribute.name()) || has(rule.allowed, attribute.name()))
        << name << " with " << attribute.name();
  }
  auto place = rule.children.begin();
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_pcdata) continue;
    const auto next = std::find(place, rule.children.end(), child.name());
    EXPECT_NE(next, rule.children.end()) << child.name() << " in " << name;
    place = next;
    expect_valid(child);
  }
}

/// Valid, and what its suites count is in them.
pugi::xml_document read(const std::string& text) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(text.c_str()));
  const pugi::xml_node top = document.document_element();
  EXPECT_STREQ(top.name(), "testsuites");
  expect_valid(top);
  std::map<std::string, int> counts{{"tests", 0}, {"failures", 0}, {"errors", 0}};
  for (const pugi::xml_node& suite : top.children("testsuite")) {
    for (auto& [name, count] : counts) count += suite.attribute(name.c_str()).as_int();
    const pugi::xml_node test = suite.child("testcase");
    EXPECT_EQ(suite.attribute("failures").as_int() == 1, !test.child("failure").empty());
    EXPECT_EQ(suite.attribute("errors").as_int() == 1, !test.child("error").empty());
    EXPECT_EQ(suite.attribute("skipped").as_int() == 1, !test.child("skipped").empty());
  }
  for (const auto& [name, count] : counts) {
    EXPECT_EQ(top.attribute(name.c_str()).as_int(-1), count) << name;
  }
  return document;
}

pugi::xml_document read(const std::vector<Result>& results) {
  return read(to_junit(results));
}

pugi::xml_node case_of(const pugi::xml_document& document) {
  return document.document_element().child("testsuite").child("testcase");
}

std::map<std::string, std::string> properties_of(const pugi::xml_document& document) {
  std::map<std::string, std::string> out;
  const pugi::xml_node suite = document.document_element().child("testsuite");
  for (const pugi::xml_node& property : suite.child("properties").children()) {
    out[property.attribute("name").value()] = property.attribute("value").value();
  }
  return out;
}

Result passed(const std::string& name) {
  Result result{"some/" + name + ".json", false, {}, "sim"};
  result.run.name = name;
  result.run.passed = true;
  return result;
}

Result failed(const std::string& name, std::vector<scenario::Unmet> unmet) {
  Result result = passed(name);
  result.run.passed = false;
  result.run.unmet = std::move(unmet);
  return result;
}

TEST(JUnit, counts_each_kind_of_result) {
  Result cut = failed("c", {});
  cut.run.inconclusive = "the limit of real time was reached";
  Result unsupported = failed("d", {});
  unsupported.world = "real";
  unsupported.run.unsupported = "dns.alias";
  Result harness = failed("e", {});
  harness.run.harness_failure = "two runs are not the same";
  const auto document =
      read({passed("a"), failed("b", {{"expect.rounds.min", "expected at least 2, completed 1"}}),
            cut, unsupported, harness});
  const pugi::xml_node top = document.document_element();
  EXPECT_EQ(top.attribute("tests").as_int(), 5);
  EXPECT_EQ(top.attribute("failures").as_int(), 1);
  EXPECT_EQ(top.attribute("errors").as_int(), 2);
  const pugi::xml_node error =
      top.find_child_by_attribute("testsuite", "name", "c").child("testcase").child("error");
  EXPECT_STREQ(error.attribute("type").value(), "inconclusive");
  EXPECT_STREQ(error.attribute("message").value(),
               "inconclusive: the limit of real time was reached");
  EXPECT_FALSE(top.find_child_by_attribute("testsuite", "name", "d in the world real").empty());
}

TEST(JUnit, a_failure_is_of_the_type_of_the_invariant_that_was_broken) {
  Result result = failed("b", {{"expect.rounds.min", "expected at least 2, completed 1"},
                               {"safety.bounds", "three agents are in a round of two", true, 0}});
  result.run.violations = {{"safety.bounds", "three agents are in a round of two", {}, {}, ""}};
  const auto document = read({result});
  const pugi::xml_node failure = case_of(document).child("failure");
  EXPECT_STREQ(failure.attribute("type").value(), "safety.bounds");
  EXPECT_STREQ(failure.attribute("message").value(),
               "safety.bounds: three agents are in a round of two");
  EXPECT_THAT(failure.text().get(), HasSubstr("expect.rounds.min"));
  EXPECT_EQ(properties_of(document).at("violated"), "safety.bounds");
}

TEST(JUnit, a_failure_tells_the_file_and_the_line_of_what_was_not_met) {
  Result result = failed("b", {{"expect.rounds.min", "expected at least 2, completed 1"}});
  result.lines = {{"expect.rounds.min", 12}};
  const auto document = read({result});
  const pugi::xml_node test = case_of(document);
  EXPECT_STREQ(test.attribute("file").value(), "some/b.json");
  EXPECT_STREQ(test.attribute("line").value(), "12");
  EXPECT_STREQ(test.child("failure").attribute("type").value(), "expect.rounds.min");
  EXPECT_THAT(test.child("failure").text().get(), HasSubstr("some/b.json:12: expect.rounds.min\n"));
}

TEST(JUnit, a_line_that_is_not_known_is_not_told) {
  const auto document = read({passed("a")});
  EXPECT_FALSE(case_of(document).attribute("line"));
  EXPECT_STREQ(case_of(document).attribute("file").value(), "some/a.json");
}

TEST(JUnit, has_the_figures_of_the_run_as_properties) {
  Result result = passed("a");
  result.variant = "torch-2.x, hardened";
  result.run.seed = 7;
  result.run.hash = "0123456789abcdef";
  result.run.world_time = std::chrono::milliseconds(61'500);
  const auto properties = properties_of(read({result}));
  EXPECT_EQ(properties.at("seed"), "7");
  EXPECT_EQ(properties.at("trace_hash"), "0123456789abcdef");
  EXPECT_EQ(properties.at("variant"), "torch-2.x, hardened");
  EXPECT_EQ(properties.at("virtual_time_s"), "61.500");
  EXPECT_EQ(properties.at("world"), "sim");
  EXPECT_FALSE(properties.contains("violated"));
}

TEST(JUnit, has_what_the_timeline_did_not_do_as_properties) {
  Result result = passed("a");
  result.run.faults = {{"net.reset", sim::WorldTime(std::chrono::seconds(2)), 0, 3}};
  EXPECT_THAT(properties_of(read({result})).at("timeline.3 net.reset"),
              HasSubstr("had no effect at 2.000 s"));
}

TEST(JUnit, a_canary_that_was_cut_has_not_failed_as_it_must) {
  Result result = failed("c", {});
  result.must_fail = true;
  result.run.inconclusive = "the limit of real time was reached";
  EXPECT_FALSE(result.good());
  EXPECT_TRUE(case_of(read({result})).child("error"));
}

TEST(JUnit, a_canary_that_passed_is_a_failure) {
  Result result = passed("a");
  result.must_fail = true;
  EXPECT_STREQ(case_of(read({result})).child("failure").attribute("type").value(), "canary");
}

TEST(JUnit, what_xml_cannot_say_does_not_break_it) {
  const std::vector<Result> results{
      failed("b", {{"expect.exit_code.n1", "a <worker> said \"\x1b[1m\" & more"}})};
  EXPECT_THAT(to_junit(results), Not(AnyOf(HasSubstr("&#27;"), HasSubstr("\x1b"))));
  EXPECT_STREQ(case_of(read(results)).child("failure").attribute("message").value(),
               "expect.exit_code.n1: a <worker> said \"?[1m\" & more");
}

/// Three worlds: in one an invariant falls, which in another one no agent could have kept.
hunt::Exploration a_hunt() {
  hunt::Exploration out;
  std::vector<hunt::WorldResult> worlds(3);
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    worlds[i].seed = 10 + i;
    worlds[i].accounts["liveness.exit"].kept = 2;
  }
  worlds[1].kinds = {{"safety.bounds", "too \x1b many"}};
  worlds[2].kinds = {{"safety.bounds", "too few", "the store (service_stop)"}};
  for (const hunt::WorldResult& world : worlds) out.add(world, {});
  return out;
}

pugi::xml_document junit_of(const hunt::Exploration& exploration, const JunitPlace& place = {}) {
  const auto invariants = properties::InvariantRegistry::with_builtins();
  return read(campaign_junit({&exploration, &invariants, "A hunt", "hooke explore"},
                             [&](const hunt::Finding&) { return place; }));
}

TEST(JUnit, of_a_hunt_has_a_case_for_each_way_and_each_invariant_that_was_kept) {
  const auto document = junit_of(a_hunt(), {"found/bounds-1.json", 7});
  const pugi::xml_node top = document.document_element();
  EXPECT_STREQ(top.attribute("name").value(), "A hunt");
  EXPECT_EQ(top.attribute("tests").as_int(), 3);
  EXPECT_EQ(top.attribute("failures").as_int(), 1);
  EXPECT_EQ(top.attribute("errors").as_int(), 0);
  const pugi::xml_node test = case_of(document);
  EXPECT_STREQ(test.attribute("classname").value(), "safety.bounds");
  EXPECT_STREQ(test.attribute("file").value(), "found/bounds-1.json");
  EXPECT_STREQ(test.attribute("line").value(), "7");
  EXPECT_STREQ(test.child("failure").attribute("type").value(), "safety.bounds");
  EXPECT_STREQ(test.child("failure").attribute("message").value(), "safety.bounds: too ? many");
  EXPECT_THAT(test.child("failure").text().get(), HasSubstr("in 1 of 3 worlds"));
  const auto properties = properties_of(document);
  EXPECT_EQ(properties.at("worlds"), "1");
  EXPECT_EQ(properties.at("first_seed"), "11");
  EXPECT_THAT(properties.at("command"), HasSubstr("hooke explore --print 11 "));
  const pugi::xml_node kept = top.find_child_by_attribute("testsuite", "name", "liveness.exit");
  EXPECT_EQ(kept.child("testcase").attribute("name").value(), std::string("kept in 3 worlds"));
}

TEST(JUnit, of_a_hunt_skips_what_no_agent_could_have_avoided) {
  const auto document = junit_of(a_hunt());
  const auto skipped = document.select_nodes("//testcase/skipped");
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_THAT(skipped.begin()->node().attribute("message").value(),
              HasSubstr("the store (service_stop)"));
}

TEST(JUnit, of_a_hunt_has_errors_for_what_is_the_harness_s_own) {
  hunt::Exploration exploration = a_hunt();
  hunt::WorldResult lost;
  lost.seed = 20;
  lost.kinds = {{"harness", "the process that played the world was killed by signal 9"}};
  exploration.add(lost, {});
  exploration.determinism_failures = 1;
  const auto document = junit_of(exploration);
  EXPECT_EQ(document.document_element().attribute("errors").as_int(), 2);
  EXPECT_TRUE(document.select_node("//error[@type = 'determinism']"));
  EXPECT_TRUE(document.select_node("//error[@type = 'harness']"));
}

}  // namespace
}  // namespace hooke::report
