// The page of a hunt: what it says, in which order, and that nothing in a name becomes markup.
#include "reports/page/campaign_page.h"

#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "reports/page/campaign_findings.h"

namespace hooke::report::of_campaigns {
namespace {

using hunt::FailureKind;

const FailureKind kStale{"safety.round_isolation", "a stale key"};
const FailureKind kOld{"safety.bounds", "too many"};
const FailureKind kOldElsewhere{"safety.bounds", "too few"};
const FailureKind kLate{"liveness.exit", "too late"};
const FailureKind kLost{"liveness.formation", "never formed", "the store (service_stop)"};

const hunt::KnownIssues kIssues{{"crowded", {kOld}, {"pytorch/pytorch#1", "a book"}},
                                {"never-met", {kLate, kStale}, {}}};

void play(hunt::Exploration& exploration, std::uint64_t seed, std::vector<FailureKind> kinds) {
  hunt::WorldResult world;
  world.seed = seed;
  world.kinds = std::move(kinds);
  world.coverage = {"cas_lost"};
  world.faults = {{"node.crash", true}, {"net.reset", false}};
  world.accounts["safety.bounds"].kept = 3;
  world.accounts["safety.bounds"].excused_by["the store"] =
      ++world.accounts["safety.bounds"].excused;
  exploration.add(world, kIssues);
}

hunt::Exploration some() {
  hunt::Exploration out;
  for (std::uint64_t seed = 0; seed < 8; ++seed) play(out, seed, {});
  for (const std::uint64_t seed : {11U, 12U, 13U}) play(out, seed, {kLate});
  for (const std::uint64_t seed : {21U, 22U}) play(out, seed, {kOld});
  play(out, 31, {kStale});
  play(out, 41, {kLost});
  return out;
}

std::string page_of(const hunt::Exploration& exploration, const std::string& title = "A hunt") {
  const auto invariants = properties::InvariantRegistry::with_builtins();
  return campaign_page({&exploration, &invariants, title, "hooke explore"});
}

/// The part of a page that is well-formed XML.
pugi::xml_document main_of(const std::string& page) {
  pugi::xml_document document;
  const std::size_t from = page.find("<main>"), to = page.find("</main>");
  EXPECT_NE(from, std::string::npos);
  EXPECT_NE(to, std::string::npos);
  EXPECT_TRUE(document.load_string(page.substr(from, to + 7 - from).c_str()));
  return document;
}

std::string text_at(const pugi::xml_document& document, const std::string& path) {
  const pugi::xpath_node found = document.select_node(path.c_str());
  EXPECT_TRUE(found) << path;
  std::string text;
  const auto all = found.node().select_nodes(".//text()");
  for (const pugi::xpath_node& each : all) text += each.node().value();
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CampaignPage, new_findings_come_first_then_known_then_unavoidable_and_safety_before_liveness) {
  const auto document = main_of(page_of(some()));
  const std::vector<std::string> wanted{"safety.round_isolation", "liveness.exit", "safety.bounds",
                                        "liveness.formation"};
  const auto items = document.select_nodes("//li[starts-with(@id, 'finding-')]/p[1]/b");
  ASSERT_EQ(items.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(items[i].node().text().get(), wanted[i]) << i;
  }
  EXPECT_EQ(text_at(document, "//*[@id='verdict']"),
            "3 invariants violated, 1 of them only as known");
  EXPECT_TRUE(has(text_at(document, "//h2[@id='unavoidable']/following::li[1]"),
                  "no agent could use the store (service_stop)"));
}

TEST(CampaignPage, a_known_finding_links_to_where_it_was_reported) {
  const auto document = main_of(page_of(some()));
  EXPECT_STREQ(document.select_node("//p[@class='known']/a/@href").attribute().value(),
               "https://github.com/pytorch/pytorch/issues/1");
  EXPECT_EQ(text_at(document, "//p[@class='known']"), "Known: crowded, pytorch/pytorch#1 a book.");
  EXPECT_EQ(
      document.select_nodes("//a[not(starts-with(@href, 'https://') or starts-with(@href, '#'))]")
          .size(),
      0U);
}

TEST(CampaignPage, an_invariant_with_a_way_that_is_not_known_is_new) {
  hunt::Exploration exploration = some();
  play(exploration, 51, {kOldElsewhere});
  const auto document = main_of(page_of(exploration));
  const std::string item = text_at(document, "//li[p/b='safety.bounds']");
  EXPECT_TRUE(has(item, "1 of its 2 ways is known: crowded")) << item;
  EXPECT_EQ(document.select_nodes("//h2[@id='known']").size(), 0U);
}

TEST(CampaignPage, each_finding_has_the_command_that_plays_it) {
  hunt::Exploration exploration = some();
  exploration.findings[kLate].reproducer = "night/it's.json";
  const auto document = main_of(page_of(exploration));
  EXPECT_TRUE(has(text_at(document, "//li[p/b='safety.round_isolation']"),
                  "hooke explore --print 31 > world-31.json && hooke run world-31.json"));
  EXPECT_TRUE(has(text_at(document, "//li[p/b='liveness.exit']"),
                  R"(hooke explain 'night/it'\''s.json' --invariant liveness.exit)"));
}

TEST(CampaignPage, tells_what_was_judged_what_was_never_reached_and_what_had_no_effect) {
  const auto document = main_of(page_of(some()));
  EXPECT_TRUE(has(text_at(document, "//h2[@id='oracle']/following::ul[1]"), "45 kept (75.0 %)"));
  EXPECT_TRUE(has(text_at(document, "//h2[@id='oracle']/following::ul[1]"), "15 excused"));
  EXPECT_EQ(text_at(document, "//h2[@id='faults']/following::ul[1]"), "net.reset");
  const std::string never = text_at(document, "//h2[@id='coverage']/following::ul[1]");
  EXPECT_TRUE(has(never, "rollback"));
  EXPECT_FALSE(has(never, "cas_lost"));
}

TEST(CampaignPage, says_that_it_was_interrupted_only_where_it_was) {
  hunt::Exploration exploration = some();
  EXPECT_FALSE(has(page_of(exploration), "nterrupted"));
  exploration.not_begun = 985;
  EXPECT_TRUE(has(text_at(main_of(page_of(exploration)), "//*[@id='interrupted']"),
                  "985 of what was asked for were not played"));
  const std::string text = hunt::write_exploration(exploration);
  EXPECT_EQ(hunt::write_exploration(hunt::load_exploration(text, "a file")), text);
}

TEST(CampaignPage, no_name_becomes_markup_and_nothing_is_needed_from_elsewhere) {
  hunt::Exploration exploration = some();
  play(exploration, 61, {{"safety.<img src=x>", "<script>alert(2)</script> & \"]]>"}});
  hunt::KnownIssueCount& issue = exploration.known_issues["crowded"];
  issue.references = {"javascript:alert(3)", "a/b#1\" onclick=\"alert(4)"};
  const std::string page = page_of(exploration, "</title><script>alert(1)</script>");
  EXPECT_EQ(text_at(main_of(page), "//h1"), "</title><script>alert(1)</script>");
  EXPECT_EQ(main_of(page).select_nodes("//@onclick").size(), 0U);
  for (const char* const markup : {"<script>alert", "<img", "href=\"javascript"}) {
    EXPECT_FALSE(has(page, markup)) << markup;
  }
  for (const char* const elsewhere : {" src=\"", "@import", "url(", "<link"}) {
    EXPECT_FALSE(has(page, elsewhere)) << elsewhere;
  }
}

TEST(CampaignPage, a_hunt_that_found_nothing_is_green) {
  hunt::Exploration exploration;
  play(exploration, 1, {});
  EXPECT_EQ(text_at(main_of(page_of(exploration)), "//strong[@class='verdict passed']"),
            "every invariant kept");
}

}  // namespace
}  // namespace hooke::report::of_campaigns
