// A list that shares its pieces with its copies, beside a vector.
#include "model/rendezvous/state/shared_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>
#include <vector>

namespace hooke::model {
namespace {

using List = SharedList<int>;
using ::testing::ElementsAre;

std::vector<int> numbers(std::size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Which pieces of two lists of one length are one and the same.
std::vector<bool> shared(const List& a, const List& b) {
  std::vector<const List::Piece*> of_a, of_b;
  a.each_piece([&](const List::Piece& piece) { of_a.push_back(&piece); });
  b.each_piece([&](const List::Piece& piece) { of_b.push_back(&piece); });
  std::vector<bool> out;
  for (std::size_t i = 0; i < of_a.size(); ++i) out.push_back(of_a[i] == of_b[i]);
  return out;
}

TEST(SharedList, shares_with_its_copy_what_has_not_changed) {
  const List list(numbers(3 * List::kPieceSize));
  List copy = list;
  EXPECT_THAT(shared(list, copy), ElementsAre(true, true, true));
  copy.edit(List::kPieceSize) = -1;
  EXPECT_THAT(shared(list, copy), ElementsAre(true, false, true));
  EXPECT_EQ(list[List::kPieceSize], static_cast<int>(List::kPieceSize));
  EXPECT_EQ(copy[List::kPieceSize], -1);
}

TEST(SharedList, shares_what_comes_before_an_entry_that_is_taken_out) {
  const List list(numbers(3 * List::kPieceSize));
  List copy = list;
  EXPECT_TRUE(copy.erase_first([](int entry) { return entry == 40; }));
  EXPECT_THAT(shared(list, copy), ElementsAre(true, false, false));
  EXPECT_FALSE(copy.erase_first([](int entry) { return entry == 40; }));
}

TEST(SharedList, forgets_the_figures_of_a_piece_that_is_changed) {
  List list(numbers(2));
  list.each_piece([](const List::Piece& piece) { piece.figures.hash.emplace(1, 2); });
  const List copy = list;
  list.edit(0) = 7;
  list.each_piece([](const List::Piece& piece) { EXPECT_FALSE(piece.figures.hash); });
  copy.each_piece([](const List::Piece& piece) { EXPECT_TRUE(piece.figures.hash); });
  List alone(numbers(2));
  alone.each_piece([](const List::Piece& piece) { piece.figures.hash.emplace(1, 2); });
  alone.push_back(3);
  alone.each_piece([](const List::Piece& piece) { EXPECT_FALSE(piece.figures.hash); });
}

TEST(SharedList, is_empty_after_it_was_moved_from) {
  List list(numbers(40));
  const List other = std::move(list);
  EXPECT_EQ(list.size(), 0U);  // NOLINT(bugprone-use-after-move): that is the subject
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_EQ(other.size(), 40U);
}

/// One change of both, or none.
void change(List& list, std::vector<int>& plain) {
  const int value = *rc::gen::inRange(0, 50);
  const auto fits = [value](int entry) { return entry == value; };
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
    case 1:
      list.push_back(value);
      plain.push_back(value);
      break;
    case 2: {
      const auto found = std::find_if(plain.begin(), plain.end(), fits);
      RC_ASSERT(list.erase_first(fits) == (found != plain.end()));
      if (found != plain.end()) plain.erase(found);
      break;
    }
    case 3:
      list.erase_all(fits);
      std::erase_if(plain, fits);
      break;
    case 4:
      if (plain.empty()) break;
      list.edit(static_cast<std::size_t>(value) % plain.size()) = -value;
      plain[static_cast<std::size_t>(value) % plain.size()] = -value;
      break;
    case 5: {
      int* const one = list.find_to_edit(fits);
      const auto found = std::find_if(plain.begin(), plain.end(), fits);
      RC_ASSERT((one != nullptr) == (found != plain.end()));
      if (one != nullptr) *one = *found = 100 + value;
      break;
    }
    default:
      list.change([](std::vector<int>& all) { std::reverse(all.begin(), all.end()); });
      std::reverse(plain.begin(), plain.end());
  }
}

TEST(SharedList, holds_what_a_vector_holds_and_so_do_its_copies) {
  EXPECT_TRUE(rc::check([] {
    std::vector<int> plain = numbers(*rc::gen::inRange<std::size_t>(0, 100));
    List list(plain);
    for (int i = 0; i < 20; ++i) {
      const List copy = list;
      const std::vector<int> plain_copy = plain;
      change(list, plain);
      RC_ASSERT(list.entries() == plain);
      RC_ASSERT(copy.entries() == plain_copy);
      RC_ASSERT((list == copy) == (plain == plain_copy));
      RC_ASSERT(list.size() == plain.size());
      RC_ASSERT(list.end() - list.begin() == std::ssize(plain));
    }
  }));
}

}  // namespace
}  // namespace hooke::model
