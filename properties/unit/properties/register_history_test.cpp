// Histories of one register: made by hand, and drawn at random beside a judge that tries every
// order.
#include "properties/linearizability/register_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>

namespace hooke::properties {
namespace {

using Kind = RegisterOperation::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

sim::WorldTime at(int second) {
  return sim::WorldTime(std::chrono::seconds(second));
}
RegisterOperation read(int value, int began, int ended) {
  return {Kind::read, 0, value, at(began), at(ended)};
}
RegisterOperation write(int expected, int value, int began, int ended) {
  return {Kind::write, expected, value, at(began), at(ended)};
}
RegisterOperation attempt(int expected, int value, int began) {
  return {Kind::attempt, expected, value, at(began), {}};
}
RegisterOperation unseen(int expected, int began) {
  return {Kind::unseen, expected, 0, at(began), {}};
}
std::vector<std::size_t> wrong(std::vector<RegisterOperation> operations) {
  RegisterHistory history;
  history.operations = std::move(operations);
  return contradictions(history, 5);
}

// ---- one after the other

TEST(RegisterHistory, what_was_written_is_read_until_it_is_replaced) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), read(1, 2, 3), write(1, 2, 4, 5), read(2, 6, 7)}),
              IsEmpty());
}
TEST(RegisterHistory, a_read_of_what_was_replaced_before_is_stale) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 3), read(1, 4, 5)}), ElementsAre(2));
}
TEST(RegisterHistory, a_read_of_what_no_agent_had_written_yet_comes_from_nowhere) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), read(2, 2, 3), write(1, 2, 4, 5)}), ElementsAre(1));
}
TEST(RegisterHistory, two_writes_over_one_value_lose_one_of_them) {
  EXPECT_THAT(wrong({read(1, 0, 1), write(1, 2, 2, 5), write(1, 3, 3, 6)}), ElementsAre(2));
}
TEST(RegisterHistory, anything_may_stand_there_in_the_beginning) {
  EXPECT_THAT(wrong({read(7, 0, 1), read(7, 2, 3), write(7, 8, 4, 5)}), IsEmpty());
  EXPECT_THAT(wrong({read(7, 0, 1), read(6, 2, 3)}), ElementsAre(1));
}
TEST(RegisterHistory, a_value_may_come_back) {
  const std::vector<RegisterOperation> there_and_back{write(0, 1, 0, 1), write(1, 2, 2, 3),
                                                      write(2, 1, 4, 5), read(1, 6, 7)};
  EXPECT_THAT(wrong(there_and_back), IsEmpty());
  auto stale = there_and_back;
  stale.push_back(read(2, 8, 9));
  EXPECT_THAT(wrong(stale), ElementsAre(4));
}
TEST(RegisterHistory, a_write_of_what_stands_there_changes_nothing) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 3), write(1, 2, 4, 5), read(2, 6, 7)}),
              IsEmpty());
}

// ---- at the same time

TEST(RegisterHistory, what_overlaps_may_have_happened_in_either_order) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 6), read(1, 3, 5)}), IsEmpty());
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 6), read(2, 3, 5)}), IsEmpty());
}
TEST(RegisterHistory, no_agent_reads_the_old_after_another_has_read_the_new) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 9), read(2, 3, 4), read(1, 5, 6)}),
              ElementsAre(3));
}
TEST(RegisterHistory, an_end_and_a_beginning_at_one_instant_overlap) {
  EXPECT_THAT(wrong({write(0, 1, 0, 1), write(1, 2, 2, 3), read(1, 3, 4)}), IsEmpty());
}
TEST(RegisterHistory, a_chain_of_writes_that_overlap_has_one_order) {
  EXPECT_THAT(wrong({read(1, 0, 0), write(3, 4, 1, 9), write(2, 3, 1, 9), write(1, 2, 1, 9),
                     read(4, 1, 8)}),
              IsEmpty());
}

// ---- unknown outcomes

TEST(RegisterHistory, an_attempt_may_come_to_be_much_later) {
  EXPECT_THAT(wrong({read(1, 0, 1), attempt(1, 2, 2), read(1, 50, 51), read(2, 90, 91)}),
              IsEmpty());
}
TEST(RegisterHistory, an_attempt_may_never_come_to_be) {
  EXPECT_THAT(wrong({read(1, 0, 1), attempt(1, 2, 2), read(1, 50, 51), write(1, 3, 60, 61),
                     read(3, 90, 91)}),
              IsEmpty());
}
TEST(RegisterHistory, an_attempt_comes_to_be_once_and_only_where_what_it_expects_stands) {
  EXPECT_THAT(
      wrong({read(1, 0, 1), attempt(1, 2, 2), read(2, 3, 4), write(2, 1, 5, 6), read(2, 7, 8)}),
      ElementsAre(4));
  EXPECT_THAT(wrong({read(1, 0, 1), attempt(1, 2, 2), write(1, 3, 3, 4), read(2, 5, 6)}),
              ElementsAre(3));
}
TEST(RegisterHistory, an_attempt_has_no_effect_before_it_began) {
  EXPECT_THAT(wrong({read(1, 0, 1), read(2, 2, 3), attempt(1, 2, 4)}), ElementsAre(1));
}
TEST(RegisterHistory, an_unseen_attempt_may_have_written_anything_once) {
  EXPECT_THAT(wrong({read(1, 0, 1), unseen(1, 1), read(9, 2, 3)}), IsEmpty());
  EXPECT_THAT(wrong({read(1, 0, 1), unseen(1, 1), write(9, 5, 2, 7), read(5, 3, 6)}), IsEmpty());
  EXPECT_THAT(wrong({read(1, 0, 1), unseen(1, 1), read(9, 2, 3), read(8, 4, 5)}), ElementsAre(3));
  EXPECT_THAT(wrong({read(1, 0, 1), unseen(4, 1), read(9, 2, 3)}), ElementsAre(2));
}
TEST(RegisterHistory, many_attempts_that_explain_nothing_cost_nothing) {
  std::vector<RegisterOperation> operations{read(1, 0, 1)};
  for (int i = 0; i < 2000; ++i) {
    operations.push_back(attempt(1, 1000 + i, 2));
    operations.push_back(read(1, 3 + i, 4 + i));
  }
  operations.push_back(read(2, 5000, 5001));
  EXPECT_THAT(wrong(operations), ElementsAre(4001));
}
TEST(RegisterHistory, many_unseen_attempts_hide_no_contradiction) {
  constexpr int kAgents = 64;
  std::vector<RegisterOperation> operations;
  for (int i = 0; i < kAgents; ++i) operations.push_back(write(i, i + 1, 2 * i, 2 * i + 1));
  for (int i = 1; i <= kAgents; ++i) operations.push_back(unseen(i, 2 * kAgents));
  operations.push_back(read(900, 200, 201));
  EXPECT_THAT(wrong(operations), IsEmpty());
  operations.push_back(read(901, 202, 203));
  EXPECT_THAT(wrong(operations), ElementsAre(2 * kAgents + 1));
}

// ---- another register, and nothing

TEST(RegisterHistory, after_a_gap_anything_may_stand_there_again) {
  RegisterHistory history;
  history.operations = {write(0, 1, 0, 1), read(3, 4, 5), read(1, 6, 7)};
  history.gaps = {{at(2), at(3)}};
  EXPECT_THAT(contradictions(history, 5), ElementsAre(2)) << "of the register after the gap";
}
TEST(RegisterHistory, what_overlaps_a_gap_may_belong_to_either_register) {
  RegisterHistory history;
  history.operations = {write(0, 1, 0, 1), write(1, 2, 2, 9), read(5, 2, 9),
                        read(1, 3, 4),     read(1, 6, 7),     read(2, 10, 11)};
  history.gaps = {{at(5), at(5)}};
  EXPECT_THAT(contradictions(history, 5), IsEmpty());
}
TEST(RegisterHistory, what_may_vanish_does_so_only_then) {
  RegisterHistory history;
  history.operations = {write(0, 1, 0, 1), read(0, 4, 5), write(0, 2, 6, 7)};
  EXPECT_THAT(contradictions(history, 5), ElementsAre(1));
  history.may_vanish = at(5);
  EXPECT_THAT(contradictions(history, 5), IsEmpty());
  history.may_vanish = at(6);
  EXPECT_THAT(contradictions(history, 5), ElementsAre(1));
}
TEST(RegisterHistory, after_a_contradiction_the_rest_is_judged_by_itself) {
  EXPECT_THAT(
      wrong({write(0, 1, 0, 1), read(2, 2, 3), read(1, 4, 5), read(1, 6, 7), read(2, 8, 9)}),
      ElementsAre(1, 4));
}

// ---- beside a judge that tries every order

constexpr int kValues = 4;
/// Stands for all values that no operation names.
constexpr int kOther = 9;

class EveryOrder {
 public:
  explicit EveryOrder(const RegisterHistory& history) : history_(history) {}
  bool explains() {
    for (int value = 0; value <= kOther; ++value) {
      if (goes_on(value, 0)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool must(std::size_t i) const {
    const Kind kind = history_.operations[i].kind;
    return kind == Kind::read || kind == Kind::write;
  }
  /// Everything that ended before `instant` has had its turn.
  [[nodiscard]] bool reached(sim::WorldTime instant, unsigned placed) const {
    for (std::size_t i = 0; i < history_.operations.size(); ++i) {
      if (must(i) && (placed >> i & 1U) == 0 && history_.operations[i].ended < instant)
        return false;
    }
    return true;
  }
  bool goes_on(std::int64_t value, unsigned placed) {
    bool all = true;
    for (std::size_t i = 0; i < history_.operations.size(); ++i) {
      if (must(i) && (placed >> i & 1U) == 0) all = false;
    }
    if (all) return true;
    for (std::size_t i = 0; i < history_.operations.size(); ++i) {
      const RegisterOperation& next = history_.operations[i];
      if ((placed >> i & 1U) != 0 || !reached(next.began, placed)) continue;
      const unsigned then = placed | 1U << i;
      if (next.kind == Kind::read) {
        if (value == next.value && goes_on(value, then)) return true;
        continue;
      }
      const bool there = value == next.expected || value == 0;
      if (next.kind == Kind::unseen) {
        for (int any = 0; there && any <= kOther; ++any) {
          if (goes_on(any, then)) return true;
        }
      } else if ((there || value == next.value) && goes_on(next.value, then)) {
        return true;
      }
    }
    return value != 0 && history_.may_vanish && reached(*history_.may_vanish, placed) &&
           goes_on(0, placed);
  }
  const RegisterHistory& history_;
};

/// What clients of a register could have seen, with one thing in it changed as often as not.
RegisterHistory drawn() {
  const auto below = [](int bound) { return *rc::gen::resize(100, rc::gen::inRange(0, bound)); };
  RegisterHistory history;
  int value = below(kValues);
  const int count = 2 + below(5);
  const int vanishes = below(6) == 0 ? below(count) : count;
  for (int i = 0; i < count; ++i) {
    const int instant = 10 * i;
    if (i == vanishes) {
      history.may_vanish = at(instant - 5);
      value = 0;
    }
    RegisterOperation operation;
    operation.began = at(instant - below(15));
    operation.ended = at(instant + below(15));
    const int what = below(10);
    operation.kind = what < 4   ? Kind::read
                     : what < 8 ? Kind::write
                     : what < 9 ? Kind::attempt
                                : Kind::unseen;
    operation.expected = value;
    operation.value = value;
    if (operation.kind != Kind::read) operation.value = below(kValues);
    const bool happens = operation.kind == Kind::write || below(2) == 0;
    if (happens) value = static_cast<int>(operation.value);
    if (operation.kind == Kind::unseen) operation.value = 0;
    history.operations.push_back(operation);
  }
  if (below(2) == 0) {
    RegisterOperation& spoilt =
        history.operations[static_cast<std::size_t>(below(static_cast<int>(count)))];
    if (below(2) == 0) spoilt.value = below(kValues);
    if (below(2) == 0) spoilt.expected = below(kValues);
  }
  return history;
}

std::string text(const RegisterHistory& history) {
  std::string out;
  for (const RegisterOperation& each : history.operations) {
    const auto second = [](sim::WorldTime time) {
      return std::to_string(time.time_since_epoch() / std::chrono::seconds(1));
    };
    out += std::string(1, "rwau"[static_cast<int>(each.kind)]) + std::to_string(each.expected) +
           ">" + std::to_string(each.value) + " " + second(each.began) + ".." + second(each.ended) +
           "\n";
  }
  return out + (history.may_vanish ? "may vanish" : "");
}

TEST(RegisterHistory, is_contradictory_exactly_when_no_order_explains_it) {
  int explained = 0, contradictory = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 100; ++i) {
      const RegisterHistory history = drawn();
      const bool expected = EveryOrder(history).explains();
      ++(expected ? explained : contradictory);
      if (contradictions(history, 1).empty() == expected) continue;
      RC_FAIL(text(history) + "\nis " + (expected ? "explained" : "contradictory"));
    }
  }));
  EXPECT_GT(explained, 5000);
  EXPECT_GT(contradictory, 500);
}

}  // namespace
}  // namespace hooke::properties
