#include "model/etcd/v2_answers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/store/stored_text.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

using Said = std::tuple<std::string, std::string, bool, std::uint64_t, std::uint64_t>;

Said said_of(const nlohmann::json& node) {
  return {node.value("key", ""), node.value("value", ""), node.value("dir", false),
          node.value("modifiedIndex", std::uint64_t{0}),
          node.value("createdIndex", std::uint64_t{0})};
}
Said said_of(const EtcdV2Node& node) {
  return {node.key, node.value, node.is_directory, node.modified_index, node.created_index};
}

/// The node of an answer to a GET, and all below it, the last directory first.
std::vector<Said> parsed(const std::string& text) {
  const nlohmann::json answer = nlohmann::json::parse(text);
  std::vector<Said> out{said_of(answer.at("node"))};
  std::vector<nlohmann::json> directories{answer.at("node")};
  while (!directories.empty()) {
    const nlohmann::json next = directories.back();
    directories.pop_back();
    for (const nlohmann::json& child : next.value("nodes", nlohmann::json::array())) {
      out.push_back(said_of(child));
      directories.push_back(child);
    }
  }
  return out;
}

/// What readers in the same program are told of a listing by the side; empty: nothing.
std::vector<Said> told_by_the_side(const sim::Value& value) {
  std::vector<Said> out;
  const auto* const kept = dynamic_cast<const StoredText*>(value.payload().get());
  if (kept == nullptr || kept->reading(StoredText::kAsEtcdAnswer) == nullptr) return out;
  const auto* const said =
      static_cast<const EtcdV2Said*>(kept->reading(StoredText::kAsEtcdAnswer).get());
  out.push_back(said_of(said->answer.node));
  for (const EtcdV2Node& node : said->answer.below()) out.push_back(said_of(node));
  return out;
}

class MovedClock final : public sim::Clock {
 public:
  [[nodiscard]] sim::MonotonicTime monotonic_now() const override { return now; }
  [[nodiscard]] sim::WallTime wall_now() const override { return {}; }
  sim::MonotonicTime now{};
};

class EtcdV2AnswersTest : public testing::Test {
 protected:
  void write(const std::string& key, const std::string& value,
             std::optional<sim::Duration> life = std::nullopt) {
    EtcdV2Tree::Node node;
    node.value = value;
    if (life) node.expires = clock.now + *life;
    tree.write("set", key, node);
  }
  std::string told(const std::string& key, bool recursive = true) {
    return value(key, recursive).bytes();
  }

  const sim::Value& value(const std::string& key, bool recursive = true) {
    return answers.get(tree, key, recursive, clock.now).body;
  }

  MovedClock clock;
  EtcdV2Tree tree{clock, [] {}};
  EtcdV2Answers answers;
};

TEST_F(EtcdV2AnswersTest, are_one_value_for_all_clients_until_the_tree_changes) {
  write("/d/a", "1");
  const sim::Value first = value("/d");
  clock.now += 1h;
  const sim::Value second = value("/d");
  EXPECT_EQ(first.payload(), second.payload());
  write("/d/b", "2");
  const sim::Value third = value("/d");
  EXPECT_NE(first.payload(), third.payload());
  EXPECT_EQ(third.bytes(), tree.get("/d", true).text);
}

TEST_F(EtcdV2AnswersTest, are_made_anew_when_a_time_to_live_has_become_less) {
  write("/d/a", "1", 10s);
  EXPECT_NE(told("/d").find(R"("ttl":10)"), std::string::npos);
  clock.now += 1s - 1ns;
  EXPECT_NE(told("/d").find(R"("ttl":10)"), std::string::npos);
  clock.now += 1ns;
  EXPECT_NE(told("/d").find(R"("ttl":9)"), std::string::npos);
  clock.now += 1min;  // it is over, and still there until the server looks for it
  EXPECT_NE(told("/d").find(R"("ttl":0)"), std::string::npos);
}

TEST_F(EtcdV2AnswersTest, say_what_is_not_there_until_it_is) {
  write("/file", "1");
  EXPECT_EQ(answers.get(tree, "/none", true, clock.now).status, 404);
  EXPECT_EQ(told("/none/below"),
            R"({"errorCode":100,"message":"Key not found","cause":"/none","index":4})"
            "\n");
  EXPECT_EQ(told("/file/below"),
            R"({"errorCode":104,"message":"Not a directory","cause":"/file","index":4})"
            "\n");
  EXPECT_EQ(answers.get(tree, "/file/below", true, clock.now).status, 400);
  EXPECT_EQ(value("/none").payload(), value("/none").payload());
  write("/none", "1");
  EXPECT_EQ(answers.get(tree, "/none", true, clock.now).status, 200);
  EXPECT_EQ(told("/none"), tree.get("/none", true).text);
}

TEST_F(EtcdV2AnswersTest, tell_by_the_side_what_a_parser_makes_of_a_listing) {
  write("/d/a", "1");
  write("/d/e/c", "2");
  write("/d/e/_hidden", "3");
  for (const bool recursive : {true, false}) {
    for (const char* const key : {"/", "/d"}) {
      const sim::Value listing = value(key, recursive);
      EXPECT_EQ(told_by_the_side(listing), parsed(listing.bytes())) << key << recursive;
    }
  }
  write("/d/u", "\xc3\xa4");
  EXPECT_TRUE(told_by_the_side(value("/d")).empty())
      << "a parser may make something else of bytes that are no ASCII";
}

RC_GTEST_FIXTURE_PROP(EtcdV2AnswersTest, say_at_any_time_what_the_tree_says, ()) {
  const auto keys = rc::gen::elementOf(std::vector<std::string>{"/d/a", "/d/b", "/d/e/c", "/f"});
  const auto steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const std::string key = *keys;
    switch (*rc::gen::inRange(0, 4)) {
      case 0: write(key, std::to_string(i)); break;
      case 1: write(key, std::to_string(i), *rc::gen::inRange(1, 5000) * 1ms); break;
      case 2:
        if (tree.find(key) != nullptr) static_cast<void>(tree.remove("delete", key));
        break;
      default: clock.now += *rc::gen::inRange(1, 1500) * 1ms;
    }
    for (const std::string& asked : {std::string("/"), std::string("/d"), key}) {
      const bool recursive = *rc::gen::arbitrary<bool>();
      if (tree.find(asked) == nullptr) continue;
      RC_ASSERT(told(asked, recursive) == tree.get(asked, recursive).text);
      const sim::Value listing = value(asked, recursive);
      if (tree.find(asked)->is_directory)
        RC_ASSERT(told_by_the_side(listing) == parsed(listing.bytes()));
    }
  }
}

}  // namespace
}  // namespace hooke::model
