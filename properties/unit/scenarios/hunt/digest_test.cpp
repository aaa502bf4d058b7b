#include "scenarios/hunt/digest.h"

#include <gtest/gtest.h>

namespace hooke::hunt {
namespace {

Digest of(std::initializer_list<std::pair<std::uint64_t, std::string_view>> worlds) {
  Digest digest;
  for (const auto& [world, hash] : worlds) digest.add(world, hash);
  return digest;
}

TEST(Digest, IsThatOfTheSameWorldsInAnyOrderAndInParts) {
  const Digest whole = of({{1, "a"}, {2, "b"}, {3, "c"}});
  EXPECT_EQ(whole, of({{3, "c"}, {1, "a"}, {2, "b"}}));
  Digest parts = of({{2, "b"}});
  parts.add(of({{3, "c"}, {1, "a"}}));
  EXPECT_EQ(whole, parts);
}

TEST(Digest, TellsWorldsTheirTracesAndTheirCountApart) {
  const Digest one = of({{1, "a"}});
  EXPECT_NE(one, Digest());
  EXPECT_NE(one, of({{2, "a"}}));
  EXPECT_NE(one, of({{1, "b"}}));
  EXPECT_NE(one, of({{1, "a"}, {1, "a"}}));
  EXPECT_NE(of({{1, "a"}, {2, "b"}}), of({{1, "b"}, {2, "a"}}));
}

TEST(Digest, IsTheSameNumberOnEveryMachine) {
  EXPECT_EQ(of({{7, "0123456789abcdef0123456789abcdef"}}).hex(),
            "5fdc62676cd69dfc5a239928d824a60c");
}

TEST(Digest, CarriesFromTheLowHalfIntoTheHighOne) {
  Digest sum = *Digest::from_hex("0000000000000000ffffffffffffffff");
  sum.add(*Digest::from_hex("00000000000000000000000000000001"));
  EXPECT_EQ(sum.hex(), "00000000000000010000000000000000");
  sum.add(*Digest::from_hex("ffffffffffffffff0000000000000000"));
  EXPECT_EQ(sum, Digest());
}

TEST(Digest, ReadsWhatItWritesAndNothingElse) {
  const Digest one = of({{1, "a"}});
  EXPECT_EQ(Digest::from_hex(one.hex()), one);
  for (const char* text :
       {"", "12", "0123456789abcdef0123456789abcdeg", "0123456789ABCDEF0123456789abcdef",
        "0123456789abcdef0123456789abcdef0", "-123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(Digest::from_hex(text)) << text;
  }
}

}  // namespace
}  // namespace hooke::hunt
