#include "model/etcd/v2_answers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

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
    return answers.get(tree, key, recursive, clock.now).bytes();
  }

  MovedClock clock;
  EtcdV2Tree tree{clock, [] {}};
  EtcdV2Answers answers;
};

TEST_F(EtcdV2AnswersTest, are_one_value_for_all_clients_until_the_tree_changes) {
  write("/d/a", "1");
  const sim::Value first = answers.get(tree, "/d", true, clock.now);
  clock.now += 1h;
  const sim::Value second = answers.get(tree, "/d", true, clock.now);
  EXPECT_EQ(first.payload(), second.payload());
  write("/d/b", "2");
  const sim::Value third = answers.get(tree, "/d", true, clock.now);
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

TEST_F(EtcdV2AnswersTest, of_what_is_not_there_are_refused_each_time) {
  EXPECT_THROW(told("/none"), EtcdV2Refusal);
  EXPECT_THROW(told("/none"), EtcdV2Refusal);
  write("/none", "1");
  EXPECT_EQ(told("/none"), tree.get("/none", true).text);
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
    }
  }
}

}  // namespace
}  // namespace hooke::model
