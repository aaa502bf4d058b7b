// Which scenarios of the library PyTorch's agents cannot play is on record, with a reason for each:
// scenarios/guest/library.md. With HOOKE_RECORD_GUESTS=1 its count and its table of scenarios are
// written anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "scenarios/format/loader.h"
#include "scenarios/guest/guest_runner.h"

namespace hooke::scenario {
namespace {

namespace fs = std::filesystem;

fs::path source() {
  const char* const root = std::getenv("HOOKE_SOURCE_DIR");
  return root == nullptr ? fs::path(".") : fs::path(root);
}

constexpr const char* kPlayed = "## Played otherwise";

struct Library {
  std::string cannot;  ///< the rows of the first table
  std::map<std::string, bool> played;
  std::size_t all = 0;
  std::map<std::string, std::size_t> of_hooke_alone;  ///< by what they need that PyTorch has not
  std::size_t count = 0;                              ///< of those that are played
};

/// What no code of PyTorch's release does: a scenario that needs it cannot be asked of it.
bool is_of_hooke_alone(const std::string& reason) {
  static const std::set<std::string> kOwn{"agent.heartbeats",
                                          "agent.kind",
                                          "agent.process_launcher",
                                          "agent.restart_policy",
                                          "agent.shutdown",
                                          "agent.timer",
                                          "TORCHELASTIC_HEALTH_CHECK_PORT",
                                          "variant hardened alone",
                                          "protocol.defects",
                                          "sched.health_kill"};
  return kOwn.contains(reason);
}

/// What is said of the scenarios of c10d.
Library library() {
  std::map<std::string, std::string> reasons;
  Library out;
  const fs::path root = source() / "scenarios/library";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".json") continue;
    const Scenario scenario = load_scenario_file(entry.path().string());
    if (scenario.protocol.rendezvous.backend != "c10d") continue;
    const std::string name = fs::relative(entry.path(), root).replace_extension().generic_string();
    std::string why;
    std::string own;
    for (const std::string& what : unsupported_by_guests(scenario)) {
      why += (why.empty() ? "" : ", ") + what;
      if (own.empty() && is_of_hooke_alone(what)) own = what;
    }
    if (!own.empty()) ++out.of_hooke_alone[own];
    if (why.empty()) ++out.count;
    if (!why.empty()) reasons[name] = why;
    out.played[name] = why.empty();
    ++out.all;
  }
  for (const auto& [name, why] : reasons) out.cannot += "| `" + name + "` | " + why + " |\n";
  return out;
}

std::string page() {
  std::ifstream file(source() / "scenarios/guest/library.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Those that can be asked of PyTorch.
std::size_t asked_of(const Library& library) {
  std::size_t out = library.all;
  for (const auto& [reason, count] : library.of_hooke_alone) out -= count;
  return out;
}

/// "## How many", then this, then the next heading.
std::string told(const Library& library) {
  const std::size_t asked = asked_of(library);
  std::string out =
      std::to_string(library.all) + " scenarios have the backend c10d, and PyTorch's agents play " +
      std::to_string(library.count) + " of them. " + std::to_string(library.all - asked) +
      " ask for what no code of PyTorch 2.13 does; of the other " + std::to_string(asked) +
      " it is " + std::to_string(100 * library.count / asked) +
      " %.\n\n| what PyTorch 2.13 does not have | scenarios that ask for it |\n|---|---|\n";
  for (const auto& [reason, count] : library.of_hooke_alone)
    out += "| " + reason + " | " + std::to_string(count) + " |\n";
  return out;
}

constexpr const char* kCount = "## How many\n\n";
constexpr const char* kWhy = "\n## Why";
constexpr const char* kHead = "| scenario | what PyTorch's agents do not have |\n|---|---|\n";

TEST(Library, what_guests_cannot_play_is_on_record) {
  const Library now = library();
  ASSERT_GT(now.all, 200U);
  std::string text = page();
  const std::size_t count = text.find(kCount) + std::string(kCount).size();
  const std::size_t counted = text.find(kWhy, count);
  ASSERT_NE(counted, std::string::npos);
  if (std::getenv("HOOKE_RECORD_GUESTS") != nullptr)
    text.replace(count, counted - count, told(now));
  else
    EXPECT_EQ(text.substr(count, counted - count), told(now));
  const std::size_t begin = text.find(kHead);
  const std::size_t end = text.find(std::string("\n") + kPlayed);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end);
  const std::size_t rows = begin + std::string(kHead).size();
  if (std::getenv("HOOKE_RECORD_GUESTS") != nullptr) {
    text.replace(rows, end - rows, now.cannot);
    std::ofstream(source() / "scenarios/guest/library.md") << text;
    return;
  }
  EXPECT_EQ(text.substr(rows, end - rows), now.cannot)
      << "HOOKE_RECORD_GUESTS=1 writes the table anew";
}

TEST(Library, guests_play_nine_in_ten_of_what_can_be_asked_of_them) {
  const Library now = library();
  EXPECT_GE(10 * now.count, 9 * asked_of(now));
}

/// A reason in the table has a line that says more of it.
TEST(Library, each_reason_is_explained) {
  const std::string text = page();
  for (const auto& entry : fs::recursive_directory_iterator(source() / "scenarios/library")) {
    if (entry.path().extension() != ".json") continue;
    const Scenario scenario = load_scenario_file(entry.path().string());
    if (scenario.protocol.rendezvous.backend != "c10d") continue;
    for (const std::string& what : unsupported_by_guests(scenario)) {
      EXPECT_THAT(text, ::testing::HasSubstr("\n| " + what + " | "));
    }
  }
}

TEST(Library, those_that_guests_play_otherwise_are_played) {
  const Library now = library();
  std::istringstream text(page().substr(page().find(kPlayed)));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    const auto found = now.played.find(name);
    ASSERT_NE(found, now.played.end()) << name << " is no scenario of c10d";
    EXPECT_TRUE(found->second) << name << " cannot be played";
  }
}

}  // namespace
}  // namespace hooke::scenario
