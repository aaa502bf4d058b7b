// Clean-up by hand: in any order, twice, or half.
#include "model/worker/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <stdexcept>

namespace hooke::model {
namespace {

using testing::ElementsAre;

/// Keeps the names of what was told to have been released.
class Told final : public sim::Trace {
 public:
  sim::EventId emit(const sim::EventType& type,
                    std::initializer_list<sim::FieldValue> fields) override {
    EXPECT_EQ(type.name, "worker.released");
    names.emplace_back(fields.begin()->text());
    return {};
  }
  std::vector<std::string> names;
};

TEST(Holdings, each_goes_once) {
  Told told;
  Holdings holdings(told);
  int group = 0;
  holdings.hold("group", [&] { ++group; });
  EXPECT_THROW(holdings.hold("group", [] {}), std::invalid_argument);
  EXPECT_TRUE(holdings.holds("group"));
  EXPECT_TRUE(holdings.release("group"));
  EXPECT_FALSE(holdings.release("group"));
  EXPECT_FALSE(holdings.release("never held"));
  holdings.release_all();
  EXPECT_EQ(group, 1);
  holdings.hold("group", [&] { ++group; });  // begun anew
  holdings.release_all();
  EXPECT_EQ(group, 2);
  EXPECT_THAT(told.names, ElementsAre("group", "group"));
}

TEST(Holdings, all_go_the_youngest_first_whatever_one_of_them_raises) {
  Told told;
  Holdings holdings(told);
  std::vector<std::string> gone;
  holdings.hold("store", [&] { gone.emplace_back("store"); });
  holdings.hold("timer", [] { throw std::runtime_error("the server has gone"); });
  holdings.hold("beats", [] { throw std::runtime_error("first"); });
  holdings.hold("forgotten", [&] { gone.emplace_back("forgotten"); });
  holdings.forget("forgotten");
  EXPECT_THAT(holdings.held(), ElementsAre("store", "timer", "beats"));
  try {
    holdings.release_all();
    ADD_FAILURE() << "the error was swallowed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_THAT(gone, ElementsAre("store"));
  EXPECT_THAT(holdings.held(), ElementsAre());
  EXPECT_NO_THROW(holdings.release_all());
}

TEST(Holdings, a_release_while_releasing_finds_nothing_left_to_do) {
  Told told;
  Holdings holdings(told);
  int released = 0;
  holdings.hold("group", [&] {
    ++released;
    EXPECT_FALSE(holdings.release("group"));
    holdings.release_all();
  });
  holdings.release_all();
  EXPECT_EQ(released, 1);
}

RC_GTEST_PROP(Holdings, go_exactly_once_in_whatever_order_and_however_often_they_are_released,
              (const std::vector<std::uint8_t>& steps)) {
  Told told;
  Holdings holdings(told);
  std::map<std::string, int> held, gone;
  for (const std::uint8_t step : steps) {
    const std::string name(1, static_cast<char>('a' + step % 4));
    if (step >= 128 && !holdings.holds(name)) {
      ++held[name];
      holdings.hold(name, [&gone, name] { ++gone[name]; });
    } else if (step % 16 == 0) {
      holdings.release_all();
    } else {
      const bool was = holdings.holds(name);
      RC_ASSERT(holdings.release(name) == was);
    }
    for (const auto& [each, times] : held) {
      RC_ASSERT(gone[each] == times - (holdings.holds(each) ? 1 : 0));
    }
  }
}

}  // namespace
}  // namespace hooke::model
