// Events by name: complete, and with distinct names.
#include "model/observe/event_registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "model/observe/trace_events.h"
#include "sim/world/world_event_registry.h"
#include "sim/world/world_events.h"

namespace hooke {
namespace {

/// Names that a header declares: the first literal of each `inline constexpr EventType`.
std::set<std::string> declared_in(const std::string& header) {
  const char* const root = std::getenv("HOOKE_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/" + header);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::regex declaration(R"re(inline constexpr (?:sim::)?EventType \w+\{\s*"([^"]+)")re");
  std::set<std::string> names;
  for (std::sregex_iterator found(all.begin(), all.end(), declaration), end; found != end;
       ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

template <class Find>
void expect_complete(const std::vector<const sim::EventType*>& all,
                     const std::vector<std::string>& headers, Find find) {
  std::set<std::string> declared;
  for (const std::string& header : headers) {
    const std::set<std::string> more = declared_in(header);
    ASSERT_FALSE(more.empty()) << "run it through ctest, or from the source directory";
    declared.insert(more.begin(), more.end());
  }
  std::set<std::string> known;
  for (const sim::EventType* type : all) {
    EXPECT_TRUE(known.emplace(type->name).second) << type->name << " is there twice";
    EXPECT_EQ(find(type->name), type);
    EXPECT_TRUE(type->meaning.ends_with(".")) << type->name << " has no meaning for hooke help";
  }
  EXPECT_EQ(known, declared);
  EXPECT_EQ(find("no.such_event"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

TEST(EventRegistry, knows_every_event_of_the_protocol_by_name) {
  expect_complete(model::all_event_types(),
                  {"model/observe/trace_events.h", "model/observe/restart_events.h",
                   "model/observe/pool_events.h", "model/observe/worker_store_events.h",
                   "model/observe/view_events.h", "model/observe/shutdown_events.h",
                   "model/observe/timer_events.h"},
                  [](std::string_view name) { return model::find_event_type(name); });
  EXPECT_EQ(model::find_event_type("rendezvous.completed"), &model::events::rendezvous_completed);
}

TEST(EventRegistry, knows_every_event_of_the_world_by_name) {
  expect_complete(world::all_event_types(), {"sim/world/world_events.h"},
                  [](std::string_view name) { return world::find_event_type(name); });
  EXPECT_EQ(world::find_event_type("node.crashed"), &world::events::node_crashed);
}

}  // namespace
}  // namespace hooke
