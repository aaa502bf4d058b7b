// What comes from outside is refused with one message that names the place, or loaded.
#include "scenarios/format/loader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "scenarios/format/duration.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/writer.h"
#include "test_files.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string refusal_of(std::string_view text, const std::string& source = "x") {
  try {
    static_cast<void>(load_scenario(text, source));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "(loaded)";
}

std::string refusal_of_file(const fs::path& path) {
  try {
    static_cast<void>(load_scenario_file(path.string()));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "(loaded)";
}

/// A place for files of one test.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "hooke-loader-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// A scenario of the nodes a to d with two workers each; `more` is put before its end.
std::string scenario_with(const std::string& more) {
  return R"({"version": 1, "name": "x", "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 4}},
  "cluster": {"nodes": [{"id": "a..d"}]}, "workers": {"per_node": 2, "program": []})" +
         more + "}";
}

Scenario loaded_with(const std::string& more) {
  return load_scenario(scenario_with(more), "x");
}

// ---- what is refused ----------------------------------------------------------------------------

TEST(BadInput, every_file_of_the_corpus_is_refused_with_its_one_message) {
  std::ostringstream got;
  int count = 0;
  for (const fs::path& file : files_below(bad_directory())) {
    const std::string message = refusal_of(contents(file), file.filename().string());
    EXPECT_TRUE(std::none_of(message.begin(), message.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20;
    })) << message;
    EXPECT_TRUE(message.starts_with(file.filename().string() + ": ")) << message;
    EXPECT_NE(message.find("expected "), std::string::npos) << message;
    EXPECT_NE(message.find(", got "), std::string::npos) << message;
    EXPECT_LT(message.size(), 500U) << message;
    got << message << "\n";
    ++count;
  }
  EXPECT_GE(count, 120);
  EXPECT_EQ(got.str(), contents(bad_directory() / "expected.txt"));
}

TEST(BadInput, a_text_of_100_MB_is_refused_by_its_size) {
  EXPECT_EQ(refusal_of(std::string(100'000'000, ' ')),
            "x: byte 16777216: expected at most 16777216 bytes, got 100000000");
}

TEST(BadInput, as_many_small_values_as_fit_into_a_file_are_refused_by_their_number) {
  std::string many = "{\"version\":[";
  for (int i = 0; i < 5'000'000; ++i) many += "1,";
  EXPECT_EQ(refusal_of(many + "1]}"),
            "x: /version/1999998: expected at most 2000000 values, got more");
}

TEST(BadInput, a_file_beyond_all_memory_is_refused_before_it_is_read) {
  const Scratch scratch;
  const fs::path path = scratch / "big.json";
  std::ofstream(path) << "{";
  fs::resize_file(path, std::uintmax_t{1} << 40U);  // sparse: only its size is large
  EXPECT_EQ(refusal_of_file(path),
            path.string() + ": byte 16777216: expected at most 16777216 bytes, got 1099511627776");
}

TEST(BadInput, an_endless_stream_is_refused_when_it_has_given_too_much) {
  EXPECT_TRUE(refusal_of_file("/dev/zero")
                  .starts_with("/dev/zero: byte 16777216: expected at most 16777216 bytes, got "));
}

TEST(BadInput, what_is_no_file_is_refused) {
  const Scratch scratch;
  EXPECT_EQ(refusal_of_file(scratch / "none"), (scratch / "none").string() + ": no such file");
  fs::create_directory(scratch / "d");
  EXPECT_EQ(refusal_of_file(scratch / "d"),
            (scratch / "d").string() + ": expected a file, got a directory");
}

TEST(BadInput, nesting_of_a_hundred_thousand_is_refused_without_recursion) {
  for (const std::string opening : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += opening;
    EXPECT_NE(refusal_of(text).find("expected nesting of at most 64"), std::string::npos);
  }
}

TEST(BadInput, nesting_of_64_is_read_and_of_65_refused) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parse_json(nested(64), "x").dump(), nested(64));
  EXPECT_THROW(parse_json(nested(65), "x"), ScenarioError);
}

TEST(BadInput, what_stands_behind_a_nul_byte_is_not_ignored) {
  EXPECT_EQ(refusal_of(scenario_with("") + std::string("\0 7", 3)),
            "x: " + place_in(scenario_with("") + "7", scenario_with("").size()) +
                ": expected UTF-8 text, got a NUL byte");
}

TEST(BadInput, an_object_of_very_many_keys_is_read_in_no_more_than_its_share_of_time) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text.back() = '}';
  // A search through all earlier members for each new one would take minutes.
  EXPECT_EQ(refusal_of(text), "x: /k0: expected a known key, got \"k0\"");
}

TEST(BadInput, a_place_is_a_line_and_a_column_where_there_are_several_lines) {
  EXPECT_EQ(place_in("{\"a\": x}\n", 6), "byte 6");
  EXPECT_EQ(place_in("", 0), "byte 0");
  EXPECT_EQ(place_in("{\n  \"a\": x\n}", 9), "line 2, column 8");
  EXPECT_EQ(place_in("x\n{}", 0), "line 1, column 1");
  EXPECT_EQ(place_in("{\n\n", 3), "line 3, column 1");
}

TEST(BadInput, a_scenario_cut_at_any_byte_is_refused_where_it_ends) {
  const std::string text =
      contents(source_directory() / "scenarios/library/smoke/late-joiner.json");
  ASSERT_GT(text.size(), 500U);
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    ASSERT_TRUE(refusal_of(text.substr(0, length))
                    .starts_with("x: " + place_in(text.substr(0, length), length) + ": expected "))
        << length << ": " << refusal_of(text.substr(0, length));
  }
}

RC_GTEST_PROP(BadInput, a_broken_byte_in_a_text_is_refused_at_its_offset, ()) {
  const std::string text =
      contents(source_directory() / "scenarios/library/smoke/late-joiner.json");
  const std::size_t from = text.find("A node that arrives");
  const std::size_t to = text.find("\",", from);
  const auto at = *rc::gen::inRange(from, to);
  std::string broken = text;
  broken[at] = static_cast<char>(*rc::gen::elementOf(std::vector<int>{0x80, 0xc0, 0xf8, 0xff}));
  const std::string message = refusal_of(broken);
  // Of a sequence that never comes to its end the first byte that does not belong is meant.
  const std::string expected = ": expected UTF-8 text, got a broken sequence";
  RC_ASSERT(message == "x: " + place_in(broken, at) + expected ||
            message == "x: " + place_in(broken, at + 1) + expected);
}

RC_GTEST_PROP(BadInput, whatever_the_bytes_they_are_refused_with_a_message_or_loaded, ()) {
  static const std::vector<fs::path> kFiles = library_files();
  std::string text = contents(*rc::gen::elementOf(kFiles));
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto count = *rc::gen::inRange<std::size_t>(0, 9);
    const auto other = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0: text[at] = static_cast<char>(*rc::gen::arbitrary<unsigned char>()); break;
      case 1: text.erase(at, count); break;
      case 2: text.insert(at, text.substr(other, count * 4)); break;
      default: text.insert(at, std::string(count, *rc::gen::elementOf(std::string("[{\"9-e.}]"))));
    }
    RC_PRE(!text.empty());
  }
  const std::string message = refusal_of(text);
  RC_ASSERT(message == "(loaded)" || message.starts_with("x: "));
}

TEST(BadInput, a_range_too_many_is_refused_before_it_fills_the_memory) {
  std::string entries;
  for (int i = 0; i < 20; ++i) {
    entries += std::string(i == 0 ? "" : ",") +
               R"({"at": "1s", "do": "node.crash", "node": "n1..n150000"})";
  }
  const std::string text =
      R"({"version": 1, "name": "x", "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 4}},
  "cluster": {"nodes": [{"id": "n1..n150000"}]}, "workers": {"program": []}, "timeline": [)" +
      entries + "]}";
  EXPECT_EQ(refusal_of(text),
            "x: /timeline/6: expected at most 1000000 nodes in all of the timeline, got more; "
            "\"all\" means every node");
}

// ---- slips --------------------------------------------------------------------------------------

TEST(Hint, a_slip_is_answered_with_the_nearest_word) {
  EXPECT_EQ(nearest("node.crsh", {"node.crash", "net.clog"}), "node.crash");
  EXPECT_EQ(nearest("crash", {"clash", "crush", "crash"}), "crash");
}

TEST(Hint, words_without_a_likeness_are_not_suggested) {
  EXPECT_EQ(nearest("completely-different", {"node.crash"}), std::nullopt);
  EXPECT_EQ(nearest("safety.foo", {"safety.bounds", "safety.core"}), std::nullopt);
  EXPECT_EQ(nearest("lost-node", {"one-node"}), std::nullopt);
  EXPECT_EQ(nearest("rendezvous.finished", {"rendezvous.failed"}), std::nullopt);
  EXPECT_EQ(nearest("safty.one_wrld", {"safety.one_world"}), "safety.one_world");
  EXPECT_EQ(nearest("z", {"a", "b"}), std::nullopt);
  EXPECT_EQ(nearest("by", {"at", "do"}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1'000'000, 'a'), {"a"}), std::nullopt);
}

// ---- what is loaded -----------------------------------------------------------------------------

TEST(Loader, what_a_file_leaves_out_has_the_defaults_of_the_format) {
  Scenario expected;
  expected.name = "x";
  expected.protocol.rendezvous.max_nodes = 4;
  expected.workers.per_node = 2;
  expected.cluster.store_host = "a";
  for (const char* id : {"a", "b", "c", "d"}) {
    expected.cluster.nodes.emplace_back();
    expected.cluster.nodes.back().id = id;
  }
  EXPECT_EQ(loaded_with(""), expected);
}

TEST(Loader, ranges_and_roles_select_nodes) {
  const Scenario scenario = loaded_with(R"(, "timeline": [
    {"at": "1s", "do": "node.crash", "node": "b..d"},
    {"at": "1s", "do": "node.crash", "node": ["d", "a..b", "rank0"]},
    {"at": "1s", "do": "net.partition", "from": "store_host", "to": "all", "one_way": true}])");
  EXPECT_EQ(scenario.timeline[0].from, (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(scenario.timeline[1].from, (std::vector<std::string>{"d", "a", "b", "rank0"}));
  EXPECT_EQ(scenario.timeline[2].from, (std::vector<std::string>{"store_host"}));
  EXPECT_EQ(scenario.timeline[2].to, (std::vector<std::string>{"all"}));
  EXPECT_TRUE(scenario.timeline[2].one_way);
}

TEST(Loader, a_trigger_may_leave_the_node_to_where_it_fires) {
  const Scenario scenario = loaded_with(R"(, "timeline": [
    {"when": {"event": "rendezvous.joined", "rank": 1, "passage": 2}, "after": "1s", "do": "agent.kill"},
    {"when": {"fault_point": "agent.exit_barrier", "node": "c"}, "do": "agent.kill"}])");
  const TimelineEntry& first = scenario.timeline[0];
  EXPECT_TRUE(first.from.empty());
  EXPECT_EQ(first.trigger.event, "rendezvous.joined");
  EXPECT_EQ(first.trigger.fields, (std::map<std::string, std::string>{{"rank", "1"}}));
  EXPECT_EQ(first.trigger.passage, 2);
  EXPECT_EQ(first.trigger.after, sim::Duration(1s));
  EXPECT_EQ(scenario.timeline[1].trigger.fault_point, "agent.exit_barrier");
  EXPECT_EQ(scenario.timeline[1].trigger.on_node, "c");
}

TEST(Loader, overrides_name_a_node_a_worker_or_all_incarnations_of_one) {
  const Scenario scenario = loaded_with("");
  const std::string text = scenario_with("");
  const std::string program = R"("program": [])";
  std::string with = text;
  with.replace(with.find(program), program.size(),
               program + R"(, "overrides": {"a": [], "b/1": [], "c/*": [], "d/0/*": []})");
  std::vector<std::string> keys;
  for (const auto& [key, steps] : load_scenario(with, "x").workers.overrides) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b/1", "c/*", "d/0/*"}));
}

TEST(Loader, expectations_of_a_range_are_those_of_each_node) {
  const Scenario scenario = loaded_with(
      R"(, "expect": {"outcome": {"a..b": "succeeded", "d": "crashed"}, "exit_code": {"a": -9}})");
  EXPECT_EQ(scenario.expect.outcome,
            (std::map<std::string, std::string>{
                {"a", "succeeded"}, {"b", "succeeded"}, {"d", "crashed"}}));
  EXPECT_EQ(scenario.expect.exit_code, (std::map<std::string, std::int64_t>{{"a", -9}}));
}

TEST(Loader, the_agents_of_a_range_start_evenly_or_one_after_the_other) {
  const auto starts = [](const std::string& start) {
    const Scenario scenario = load_scenario(
        R"({"version": 1, "name": "n", "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 4}},
            "cluster": {"nodes": [{"id": "n1..n4", "start": )" +
            start + R"(}]}, "workers": {"program": [{"exit": 0}]}})",
        "x");
    EXPECT_EQ(load_scenario(write_scenario(scenario), "again"), scenario);
    std::vector<sim::Duration> out;
    for (const NodePlan& node : scenario.cluster.nodes) out.push_back(node.start.value());
    return out;
  };
  EXPECT_EQ(starts(R"("7s")"), (std::vector<sim::Duration>{7s, 7s, 7s, 7s}));
  EXPECT_EQ(starts(R"({"to": "3s"})"), (std::vector<sim::Duration>{0s, 1s, 2s, 3s}));
  EXPECT_EQ(starts(R"({"from": "1m", "to": "1m"})"),
            (std::vector<sim::Duration>{1min, 1min, 1min, 1min}));
  EXPECT_EQ(starts(R"({"from": "5s", "stagger": "10ms"})"),
            (std::vector<sim::Duration>{5s, 5010ms, 5020ms, 5030ms}));
}

TEST(Loader, a_pipe_is_read_as_a_file_is) {
  const Scratch scratch;
  const fs::path path = scratch / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << scenario_with(""); });
  EXPECT_EQ(load_scenario_file(path.string()), loaded_with(""));
  writer.join();
}

// ---- ranges and durations -----------------------------------------------------------------------

TEST(Range, counts_letters_and_numbers) {
  EXPECT_EQ(expand_range("b..d"), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(expand_range("n9..n11"), (std::vector<std::string>{"n9", "n10", "n11"}));
  EXPECT_EQ(expand_range("n09..n11"), (std::vector<std::string>{"n09", "n10", "n11"}));
  EXPECT_EQ(expand_range("n0..n1"), (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(expand_range("a..a"), (std::vector<std::string>{"a"}));
}

TEST(Range, is_nothing_when_it_counts_down_or_its_ends_do_not_match) {
  for (const char* wrong : {"d..b", "n3..n1", "a1..b2", "abc", "..", "a..", "..b", "A..C", "1..3",
                            "n01..n100", "n1..n1000000", "n1..n99999999999999999999"}) {
    EXPECT_TRUE(expand_range(wrong).empty()) << wrong;
  }
}

TEST(Duration, has_a_unit_and_is_exact) {
  EXPECT_EQ(parse_duration("250us"), sim::Duration(250us));
  EXPECT_EQ(parse_duration("1.5s"), sim::Duration(1500ms));
  EXPECT_EQ(parse_duration("-20s"), sim::Duration(-20s));
  EXPECT_EQ(parse_duration("0.000000001s"), sim::Duration(1ns));
  for (const char* wrong : {"", "5", "s", "5 s", "1.s", ".5s", "5S", "1.5ns", "1e3s", "+5s", "--5s",
                            "5s ", "0x5s", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
}

RC_GTEST_PROP(Duration, is_read_back_from_its_text, ()) {
  const sim::Duration unit = *rc::gen::elementOf(std::vector<sim::Duration>{1ns, 1us, 1s, 1h});
  const sim::Duration span = unit * *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
  RC_ASSERT(parse_duration(duration_text(span)) == span);
}

TEST(Loader, events_that_were_renamed_are_known_by_their_former_names) {
  const std::string form = R"({"version": 1, "name": "n", "seed": 1,
    "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1}},
    "cluster": {"nodes": [{"id": "a"}]}, "workers": {"program": [{"exit": 0}]},
    "timeline": [], "expect": {"events": [{"event": "EVENT"}]}})";
  for (const auto& [former, present] : std::map<std::string, std::string>{
           {"mark", "coverage.point"}, {"fault.felt", "fault.took_effect"}}) {
    std::string text = form;
    text.replace(text.find("EVENT"), 5, former);
    const Scenario scenario = load_scenario(text, "test");
    EXPECT_EQ(scenario.expect.events.at(0).event, present);
    EXPECT_EQ(load_scenario(write_scenario(scenario), "again"), scenario);
  }
}

}  // namespace
}  // namespace hooke::scenario
