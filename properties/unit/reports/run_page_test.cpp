// The page of a run: what it says, that it is whole, and that nothing in a name becomes markup.
#include "reports/page/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "model/observe/trace_events.h"
#include "reports/findings.h"
#include "reports/page/lane_chart.h"
#include "reports/page/time_split.h"
#include "reports/timeline.h"
#include "scenarios/format/loader.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using sim::WorldTime;

/// A scenario of the library, run once, and its page.
class Played {
 public:
  explicit Played(const std::string& file,
                  const std::function<void(scenario::Scenario&)>& edit = {}) {
    scenario = scenario::load_scenario_file(std::string(std::getenv("HOOKE_SOURCE_DIR")) +
                                            "/scenarios/library/" + file);
    if (edit) edit(scenario);
    record.emplace(scenario.machine_names());
    scenario::RunOptions options;
    options.determinism_check = false;
    options.sinks.push_back(&*record);
    kernel::Kernel kernel;
    result = {file, scenario.canary, scenario::run(kernel, scenario, options, invariants)};
    record->finish(result.run.judged_at);
  }
  [[nodiscard]] std::string page() const {
    return run_page({&result, &scenario, &*record, &invariants, {}});
  }

  properties::InvariantRegistry invariants = properties::InvariantRegistry::with_builtins();
  scenario::Scenario scenario;
  std::optional<RunRecord> record;
  Result result;
};

/// The part of a page that is well-formed XML.
pugi::xml_document main_of(const std::string& page) {
  pugi::xml_document document;
  const std::size_t from = page.find("<main>"), to = page.find("</main>");
  EXPECT_NE(from, std::string::npos);
  EXPECT_NE(to, std::string::npos);
  const auto parsed = document.load_string(page.substr(from, to + 7 - from).c_str());
  EXPECT_TRUE(parsed) << parsed.description() << " at " << parsed.offset;
  return document;
}

std::string text_of(const pugi::xml_node& node) {
  std::string text;
  for (const pugi::xml_node child : node.children()) {
    text += child.type() == pugi::node_pcdata ? std::string(child.value()) : text_of(child);
  }
  return text;
}

std::string text_at(const pugi::xml_document& document, const char* path) {
  const pugi::xpath_node found = document.select_node(path);
  EXPECT_TRUE(found) << path;
  return text_of(found.node());
}

std::size_t count_at(const pugi::xml_document& document, const std::string& path) {
  return document.select_nodes(path.c_str()).size();
}

constexpr const char* kDeadMember = "known_issues/incident-01-dead-participant.json";

TEST(RunPage, says_what_happened_where_the_time_went_and_what_was_violated) {
  const auto document = main_of(Played(kDeadMember).page());
  EXPECT_EQ(text_at(document, "//*[@id='verdict']"), "passed, as the scenario expects");
  EXPECT_EQ(text_at(document, "//p[@class='outcome']"),
            "job \"job\": running (1 agent crashed, 1 running); 30m00.0s, 3 % of it useful "
            "training");
  EXPECT_NE(text_at(document, "//ul[@class='key']").find("a worker was dead, no agent acted 29m"),
            std::string::npos);
  EXPECT_NE(text_at(document, "//li[@id='finding-1']")
                .find("liveness.loss_detection violated at 76.362 s"),
            std::string::npos);
  EXPECT_EQ(count_at(document, "//div[@class='lane']"), 2U);
  EXPECT_EQ(text_at(document, "//ol[@class='faults']/li"), "node.crash b at 60.000 s");
  EXPECT_EQ(text_at(document, "//ul[@class='commands']/li/code"),
            std::string("hooke run ") + kDeadMember + " --seed 7 --timeline");
}

TEST(RunPage, fails_in_red_when_a_violation_is_not_expected) {
  const Played played(kDeadMember, [](scenario::Scenario& each) {
    each.expect.violates.clear();
    each.expect.holds = {"*"};
  });
  EXPECT_EQ(text_at(main_of(played.page()), "//strong[@class='verdict failed']"),
            "failed: 1 invariant violated");
}

TEST(RunPage, draws_the_causes_of_a_finding_across_the_lanes) {
  Played played(kDeadMember);
  hunt::CauseRecorder causes(Phrases{}, played.scenario.machine_names());
  scenario::RunOptions options;
  options.sinks.push_back(&causes);
  kernel::Kernel kernel;
  scenario::run(kernel, played.scenario, options, played.invariants);
  const auto explanations = causes_of(played.result.run, causes);
  ASSERT_EQ(explanations.size(), 1U);
  const auto document = main_of(run_page(
      {&played.result, &played.scenario, &*played.record, &played.invariants, explanations}));
  EXPECT_EQ(count_at(document, "//div[@class='chains']//polyline"), 1U);
  EXPECT_GE(count_at(document, "//a[@class='step' and contains(@title, 'b: ')]"), 1U);
  EXPECT_EQ(text_at(document, "//li[@id='finding-1']//h3"), "How it came about");
  EXPECT_EQ(count_at(document, "//p[@class='averts']"), 0U);  // it was not asked
}

/// The titles of the time-outs that are drawn.
std::vector<std::string> deadlines_of(const Played& played) {
  const auto document = main_of(played.page());
  std::vector<std::string> titles;
  for (const auto& each :
       document.select_nodes("//div[@class='track']/span[starts-with(@class,'deadline')]")) {
    titles.emplace_back(each.node().attribute("title").value());
  }
  const std::size_t keys = count_at(document, "//ul[@class='key']//span[@class='swatch deadline']");
  EXPECT_EQ(keys, titles.empty() ? 0U : 1U);
  return titles;
}

TEST(RunPage, draws_the_time_outs_that_something_waited_for) {
  using testing::ElementsAre;
  EXPECT_THAT(
      deadlines_of(Played(kDeadMember)),
      ElementsAre("b: keep-alive of 15.000s: from 57.097 s to 72.097 s; dropped by a at 75.228 s"));
  // Waited for from 57.1 s to 75.2 s of 1,800 s; the deadline, before that, is reached.
  const auto document = main_of(Played(kDeadMember).page());
  EXPECT_EQ(count_at(document,
                     "//span[@class='deadline' and contains(@style,'left:3.2%;width:0.8%;"
                     "background-size:100% 1px')]"),
            1U);
  EXPECT_THAT(deadlines_of(Played("smoke/happy-path-1-node.json")), testing::IsEmpty());
}

TEST(RunPage, lists_what_was_expected_and_did_not_come) {
  const Played played("smoke/late-joiner.json",
                      [](scenario::Scenario& each) { each.expect.rounds_min = 99; });
  const auto document = main_of(played.page());
  EXPECT_EQ(text_at(document, "//*[@id='verdict']"), "failed: 1 expectation not met");
  EXPECT_NE(text_at(document, "//h2[.='What was expected and did not come']/following::ul[1]")
                .find("expect.rounds"),
            std::string::npos);
}

TEST(RunPage, no_name_becomes_markup) {
  const Played played("smoke/late-joiner.json", [](scenario::Scenario& each) {
    each.name = "</title><script>alert(1)</script>";
    each.description = "<img src=x onerror=alert(1)> & \"quoted\" ]]>";
  });
  const std::string page = played.page();
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(text_at(main_of(page), "//h1"), "</title><script>alert(1)</script>");
}

TEST(RunPage, needs_nothing_from_elsewhere) {
  const std::string page = Played(kDeadMember).page();
  for (const char* const elsewhere : {"http://", " src=", "@import", "url(", "<link"}) {
    EXPECT_EQ(page.find(elsewhere), std::string::npos) << elsewhere;
  }
  // What a reader may follow, and no browser does by itself.
  const std::string link = "<a href=\"https://github.com/";
  for (std::size_t at = page.find("https://"); at != std::string::npos;
       at = page.find("https://", at + 1)) {
    EXPECT_EQ(page.substr(at - link.find("https"), link.size()), link);
  }
}

TEST(RunPage, a_finding_leads_to_the_known_issues_with_that_violation) {
  const std::string page =
      Played(kDeadMember, [](scenario::Scenario& each) { each.expect.violates.clear(); }).page();
  EXPECT_THAT(page, testing::HasSubstr("https://github.com/pytorch/pytorch/issues/111646"));
  EXPECT_THAT(page, testing::HasSubstr("hooke help liveness.loss_detection"));
}

TEST(RunPage, draws_which_node_came_to_know_what_from_which) {
  const auto document = main_of(Played("smoke/late-joiner.json").page());
  const std::string diagram = "//details[@id='space-time']";
  ASSERT_EQ(count_at(document, diagram + "//svg"), 1U);
  EXPECT_GT(count_at(document, diagram + "//g[starts-with(@class,'message')]"), 0U);
  EXPECT_EQ(count_at(document, diagram + "//g[starts-with(@class,'message')]"),
            count_at(document, diagram + "//g[starts-with(@class,'message')]/title"));
  // It scrolls by the keyboard, and a reader of the screen is told what it is.
  EXPECT_EQ(count_at(document, diagram + "//div[@tabindex='0' and @role='region' and @aria-label]"),
            1U);
}

TEST(RunPage, shows_what_the_store_held_after_each_write) {
  const auto document = main_of(Played(kDeadMember).page());
  const std::string rows = "//details[@id='store']//tbody/tr";
  EXPECT_GE(count_at(document, rows), 3U);
  EXPECT_NE(text_at(document, (rows + "[td[5]='completes the round']").c_str()).find("a, b"),
            std::string::npos);
  EXPECT_GE(count_at(document, rows + "[td[5]='gives up b as dead'][td[6]='a']"), 1U);
}

/// Two agents that write in turn: each learns once of each write of the other, heartbeats aside.
TEST(StoreStory, tells_a_node_of_each_write_once) {
  StoreStory story;
  std::uint64_t id = 0;
  const auto exchange = [&](std::uint32_t node, const char* kind, int value) {
    const std::array<sim::FieldValue, 6> fields{"job", kind, 0, value, 0, 0};
    story.see({sim::EventId{++id},
               {},
               WorldTime(std::chrono::seconds(id)),
               {},
               sim::NodeId{node},
               sim::Pid{1},
               &model::events::rendezvous_exchanged,
               fields},
              node == 0 ? "a" : "b");
  };
  const auto write = [&](std::uint32_t node, const char* action) {
    const std::array<sim::FieldValue, 4> fields{"job", action, 0, 100};
    story.see({sim::EventId{++id},
               {},
               WorldTime(std::chrono::seconds(id)),
               {},
               sim::NodeId{node},
               sim::Pid{1},
               &model::events::rendezvous_write,
               fields},
              node == 0 ? "a" : "b");
  };
  exchange(0, "write", 11);
  write(0, "ADD_TO_PARTICIPANTS");
  exchange(0, "write", 12);
  write(0, "KEEP_ALIVE");
  exchange(1, "read", 12);
  exchange(1, "read", 12);
  ASSERT_EQ(story.messages().size(), 1U);
  EXPECT_EQ(story.messages()[0].from, "a");
  EXPECT_EQ(story.messages()[0].to, "b");
  EXPECT_EQ(story.messages()[0].what, "add to participants");
}

/// Words for so many events, of which a person would tell each.
RunRecord long_record(std::size_t lines) {
  RunRecord record({"a"});
  for (std::size_t i = 0; i < lines; ++i) {
    const std::array<sim::FieldValue, 2> fields{"job", std::string_view("a_100_0")};
    const std::array<sim::FieldValue, 3> all{fields[0], fields[1], 0};
    record.on_event({sim::EventId{i + 1},
                     {},
                     WorldTime(std::chrono::milliseconds(i)),
                     {},
                     sim::NodeId{0},
                     sim::Pid{100},
                     &model::events::rendezvous_joining,
                     all});
  }
  record.finish({});
  return record;
}

TEST(RunPage, is_small_and_says_what_it_leaves_out) {
  const Played played(kDeadMember);
  const RunRecord record = long_record(RunRecord::kLines + 5);
  const std::string page =
      run_page({&played.result, &played.scenario, &record, &played.invariants, {}});
  EXPECT_LT(page.size(), std::size_t{2} << 20U);
  const auto document = main_of(page);
  EXPECT_EQ(count_at(document, "//table[@id='events']//tr"), RunRecord::kLines);
  EXPECT_NE(page.find("The first 10,000 of 10,005"), std::string::npos);
}

TEST(RunPage, nodes_that_did_the_same_share_a_lane) {
  const Played played("smoke/late-joiner.json");
  pugi::xml_document few, many;
  RunRecord crowd(std::vector<std::string>(64, "n"));
  for (std::uint32_t node = 0; node < 64; ++node) {
    const std::array<sim::FieldValue, 7> fields{"job", "c10d", 1, 64, 1, 0, 0};
    crowd.on_event({sim::EventId{node + 1},
                    {},
                    WorldTime(node == 7 ? 5s : 1s),
                    {},
                    sim::NodeId{node},
                    sim::Pid{100},
                    &model::events::agent_started,
                    fields});
  }
  crowd.finish(WorldTime(60s));
  add_lane_chart(many, crowd, {});
  EXPECT_EQ(count_at(many, "//div[@class='lane']"), 2U);
  EXPECT_EQ(text_at(many, "//span[@class='node']"), "n and 62 more");
  add_lane_chart(few, *played.record, {});
  EXPECT_EQ(count_at(few, "//div[@class='lane']"), played.record->lanes().size());
}

// ---- where the time went

Segment segment(Phase phase, std::chrono::seconds from, std::chrono::seconds to,
                std::int64_t round = -1) {
  return {phase, WorldTime(from), WorldTime(to), "job", round};
}

TEST(TimeSplit, what_a_restart_throws_away_is_lost_and_a_dead_peer_is_waited_for) {
  const std::vector<Lane> lanes{
      {"a",
       {segment(Phase::rendezvous, 0s, 1s), segment(Phase::training, 1s, 10s, 0),
        segment(Phase::peer_lost, 10s, 14s, 0), segment(Phase::restarting, 14s, 15s, 0),
        segment(Phase::rendezvous, 15s, 20s), segment(Phase::training, 20s, 50s, 1),
        segment(Phase::leaving, 50s, 52s, 1)}},
      {"b", {segment(Phase::rendezvous, 0s, 1s), segment(Phase::training, 1s, 10s, 0)}}};
  const std::vector<TimeSplit> splits = split_time(lanes, {});
  ASSERT_EQ(splits.size(), 1U);
  const TimeSplit& split = splits.front();
  EXPECT_EQ(split.of(Spent::rendezvous), 6s);
  EXPECT_EQ(split.of(Spent::lost), 9s);
  EXPECT_EQ(split.of(Spent::detection), 4s);
  EXPECT_EQ(split.of(Spent::restart), 1s);
  EXPECT_EQ(split.of(Spent::useful), 30s);
  EXPECT_EQ(split.of(Spent::leaving), 2s);
  EXPECT_EQ(split.whole(), 52s);
  EXPECT_EQ(split.slices.size(), 7U);
}

TEST(TimeSplit, a_job_that_fails_has_trained_in_vain) {
  const std::vector<Lane> lanes{{"a", {segment(Phase::training, 0s, 10s, 0)}}};
  EXPECT_EQ(split_time(lanes, {"job"}).front().of(Spent::lost), 10s);
  EXPECT_EQ(split_time(lanes, {}).front().of(Spent::useful), 10s);
}

TEST(TimeSplit, time_without_an_agent_is_told_apart) {
  const std::vector<Lane> lanes{{"a", {segment(Phase::training, 0s, 10s, 0)}},
                                {"b", {segment(Phase::training, 30s, 40s, 1)}}};
  EXPECT_EQ(split_time(lanes, {}).front().of(Spent::idle), 20s);
}

TEST(TimeSplit, of_the_library_every_job_is_told_from_its_first_agent_to_its_last) {
  const Played played("known_issues/incident-11-endless-restarts.json");
  const auto splits = split_time(played.record->lanes(), {});
  ASSERT_FALSE(splits.empty());
  for (const TimeSplit& split : splits) {
    for (std::size_t i = 1; i < split.slices.size(); ++i) {
      EXPECT_EQ(split.slices[i - 1].to, split.slices[i].from);
      EXPECT_NE(split.slices[i - 1].spent, split.slices[i].spent);
    }
    EXPECT_EQ(split.whole(), split.slices.back().to - split.slices.front().from);
  }
}

// ---- findings

TEST(Findings, one_per_invariant_the_worst_first) {
  scenario::RunReport run;
  const auto violation = [](const char* invariant, std::chrono::seconds at, const char* limit) {
    return properties::Violation{invariant, "witness", WorldTime(at), {}, limit};
  };
  run.violations = {violation("liveness.exit", 1s, ""), violation("safety.bounds", 9s, ""),
                    violation("liveness.exit", 3s, ""),
                    violation("safety.one_world", 0s, "the store"),
                    violation("safety.eviction", 2s, "")};
  for (const std::size_t index : {0UL, 1UL, 2UL}) {
    run.unmet.push_back({run.violations[index].invariant, "", true, index});
  }
  const auto findings = findings_of(run, properties::InvariantRegistry::with_builtins());
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings[0].invariant, "safety.bounds");
  EXPECT_EQ(findings[1].invariant, "liveness.exit");
  EXPECT_EQ(findings[1].count, 2U);
  EXPECT_EQ(findings[1].first.at, WorldTime(1s));
  EXPECT_EQ(findings[2].weight, Weight::allowed);
  EXPECT_EQ(findings[3].weight, Weight::unavoidable);
  EXPECT_FALSE(findings[0].meaning.empty());
}

}  // namespace
}  // namespace hooke::report
