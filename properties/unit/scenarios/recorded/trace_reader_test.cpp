// What reports::TraceFile writes is read back; what is no trace is refused by line and place.
#include "scenarios/recorded/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "model/observe/event_registry.h"
#include "reports/trace_file.h"
#include "scenarios/format/json_reader.h"
#include "sim/world/world_event_registry.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A file with this text for the time of a test.
class TraceOf {
 public:
  explicit TraceOf(const std::string& text) { std::ofstream(path_) << text; }
  ~TraceOf() { std::filesystem::remove(path_); }
  TraceOf(const TraceOf&) = delete;
  TraceOf& operator=(const TraceOf&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

std::string refusal(const std::string& text) {
  const TraceOf file(text);
  try {
    TraceReader reader(file.path());
    while (reader.next()) {
    }
  } catch (const ScenarioError& error) {
    return std::string(error.what()).substr(file.path().size());
  }
  return "accepted";
}

constexpr const char* kEvent =
    R"({"event":1,"parent":0,"at_ns":5,"type":"store.stopped","node":"a","pid":7,"wall_ns":9,"port":1})";

TEST(TraceReader, reads_back_events_of_every_type) {
  std::vector<const sim::EventType*> types = model::all_event_types();
  for (const sim::EventType* const type : world::all_event_types()) types.push_back(type);
  std::ostringstream written;
  report::TraceFile trace(written, {"a", "b"});
  std::uint64_t id = 0;
  for (const sim::EventType* const type : types) {
    std::vector<sim::FieldValue> fields;
    for (std::size_t i = 0; i < type->field_count; ++i) {
      if (i % 2 == 0) fields.emplace_back(static_cast<std::int64_t>(i) - 3);
      if (i % 2 == 1) fields.emplace_back("täxt \"in\" a line\n");
    }
    ++id;
    trace.on_event({sim::EventId{id}, sim::EventId{id - 1}, sim::WorldTime(10ns * id),
                    sim::WallTime(20ns * id), sim::NodeId{1}, sim::Pid{9}, type, fields});
  }
  trace.finish(sim::WorldTime(77s));
  const TraceOf file(written.str());
  TraceReader reader(file.path());
  id = 0;
  for (const sim::EventType* const type : types) {
    const auto line = reader.next();
    ASSERT_TRUE(line) << type->name;
    ++id;
    EXPECT_EQ(line->event.type, type);
    EXPECT_EQ(line->id, id);
    EXPECT_EQ(line->parent, id - 1);
    EXPECT_EQ(line->node, "b");
    EXPECT_EQ(line->event.pid, sim::Pid{9});
    EXPECT_EQ(line->event.at, sim::WorldTime(10ns * id));
    EXPECT_EQ(line->event.wall, sim::WallTime(20ns * id));
    ASSERT_EQ(line->event.fields.size(), type->field_count);
    for (std::size_t i = 0; i < type->field_count; ++i) {
      const RawEvent::Field expected = i % 2 == 0
                                           ? RawEvent::Field(static_cast<std::int64_t>(i) - 3)
                                           : RawEvent::Field("täxt \"in\" a line\n");
      EXPECT_EQ(line->event.fields[i], expected) << type->name << " " << type->fields[i];
    }
  }
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.end(), sim::WorldTime(77s));
  EXPECT_FALSE(reader.cut_off());
}

TEST(TraceReader, what_commands_a_terminal_is_taken_out_of_a_text) {
  const TraceOf file(
      R"({"event":1,"parent":0,"at_ns":5,"type":"watchdog.failed","node":"a","pid":7,"wall_ns":9,)"
      R"("path":"p","detail":"a\u001b[2Jb\nc"})"
      "\n");
  TraceReader reader(file.path());
  EXPECT_EQ(reader.next()->event.text("detail"), "a?[2Jb\nc");
}

TEST(TraceReader, refuses_a_line_that_is_no_event_by_its_place) {
  const auto line = [](std::string text) { return std::string(kEvent) + "\n" + text + "\n"; };
  EXPECT_THAT(refusal(line("{")), HasSubstr(": line 2: byte 1: expected "));
  EXPECT_THAT(refusal(line("7")), HasSubstr(": line 2: (top): expected an event"));
  EXPECT_THAT(refusal(line("{}")),
              HasSubstr(": line 2: (top): expected the key \"type\", got none"));
  EXPECT_THAT(refusal(line(R"({"type":"no.such"})")),
              HasSubstr(": line 2: /type: expected the type of an event, got \"no.such\""));
  std::string event = kEvent;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = event;
    text.replace(text.find(from), from.size(), to);
    return refusal(text + "\n");
  };
  EXPECT_EQ(changed("\"port\":1", "\"port\":1"), "accepted");
  EXPECT_THAT(changed(",\"port\":1", ""), HasSubstr(": line 1: (top): expected the key \"port\""));
  EXPECT_THAT(changed("\"port\":1", "\"port\":[1]"),
              HasSubstr(": line 1: /port: expected a text or a whole number, got [1]"));
  EXPECT_THAT(changed("\"port\":1", "\"port\":1,\"more\":2"),
              HasSubstr(": line 1: /more: expected a known key"));
  EXPECT_THAT(changed("\"at_ns\":5", "\"at_ns\":-5"),
              HasSubstr(": line 1: /at_ns: expected an integer from 0 to "));
  EXPECT_THAT(changed("\"node\":\"a\"", "\"node\":\"\""),
              HasSubstr(": line 1: /node: expected the name of a node"));
}

TEST(TraceReader, a_last_line_without_an_end_is_used_where_it_is_whole) {
  const TraceOf whole(kEvent);
  TraceReader one(whole.path());
  EXPECT_TRUE(one.next());
  EXPECT_FALSE(one.next());
  EXPECT_FALSE(one.cut_off());
  const TraceOf half(std::string(kEvent) + "\n" + std::string(kEvent).substr(0, 50));
  TraceReader other(half.path());
  EXPECT_TRUE(other.next());
  EXPECT_FALSE(other.next());
  EXPECT_TRUE(other.cut_off());
}

TEST(TraceReader, nothing_follows_the_end_of_a_trace) {
  const std::string end = R"({"type":"trace.ended","at_ns":8})"
                          "\n";
  EXPECT_EQ(refusal(std::string(kEvent) + "\n" + end), "accepted");
  EXPECT_THAT(refusal(end + kEvent + "\n"), HasSubstr(": line 2: expected no line after the end"));
}

TEST(TraceReader, refuses_a_line_longer_than_any_event) {
  EXPECT_THAT(refusal(std::string(kTraceLineBytesMax + 1, ' ')),
              HasSubstr(": line 1: expected an event in at most 1048576 bytes"));
}

TEST(TraceReader, refuses_what_is_no_file) {
  EXPECT_THROW(TraceReader{testing::TempDir()}, ScenarioError);
  EXPECT_THROW(TraceReader{testing::TempDir() + "/no such trace"}, ScenarioError);
}

}  // namespace
}  // namespace hooke::scenario
