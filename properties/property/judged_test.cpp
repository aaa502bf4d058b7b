// What the invariants judge in worlds of the default swarm: an invariant that no longer sees what
// it saw, or excuses more than it did, is as bad as one that is wrong. properties/oracle/judged.txt
// has the shares on record; properties/oracle/record writes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "model/variant/variant.h"
#include "scenarios/hunt/accounts.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {
namespace {

constexpr std::uint64_t kWorlds = 150;

Accounts judged_in_worlds(model::Variant variant) {
  Swarm swarm;
  swarm.variants = {variant};
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  Accounts out;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed)
    add(out, run(kernel, draw(swarm, seed), hunting_options(false), invariants).accounts);
  return out;
}

/// In tenths of a percent of what was owed.
std::int64_t share(const properties::Account& account) {
  return account.owed() == 0 ? 0 : account.judged() * 1000 / account.owed();
}

std::string record_file() {
  const char* const source = std::getenv("HOOKE_SOURCE_DIR");
  return (source == nullptr ? std::string(".") : std::string(source)) +
         "/properties/oracle/judged.txt";
}

struct OnRecord {
  std::int64_t owed = 0;
  std::int64_t share = 0;
};
using Record = std::map<std::pair<std::string, std::string>, OnRecord>;

Record read_record() {
  Record out;
  std::ifstream file(record_file());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream in(line);
    std::string variant, id;
    OnRecord entry;
    in >> variant >> id >> entry.owed >> entry.share;
    EXPECT_FALSE(in.fail()) << record_file() << ": " << line;
    out[{variant, id}] = entry;
  }
  return out;
}

const std::map<std::string, model::Variant> kVariants{{"hardened", model::Variant::hardened},
                                                      {"torch-2.x", model::Variant::torch_2_x}};

TEST(Judged, the_share_of_what_is_owed_that_is_judged_does_not_fall) {
  if (std::getenv("HOOKE_RECORD_JUDGED") != nullptr) {
    std::ofstream file(record_file());
    file << "# Of what each invariant was owed in worlds 0 to " << kWorlds - 1
         << " of the default swarm: how much it judged (kept or broken),\n"
         << "# in tenths of a percent. properties/oracle/record writes this file.\n"
         << "# variant invariant owed judged\n";
    for (const auto& [name, variant] : kVariants) {
      for (const auto& [id, account] : judged_in_worlds(variant))
        file << name << ' ' << id << ' ' << account.owed() << ' ' << share(account) << '\n';
    }
  }
  const Record record = read_record();
  ASSERT_FALSE(record.empty());
  for (const auto& [name, variant] : kVariants) {
    const Accounts now = judged_in_worlds(variant);
    for (const auto& [id, account] : now) {
      const auto known = record.find({name, id});
      ASSERT_NE(known, record.end()) << name << " " << id << " is not on record";
      EXPECT_GE(share(account), known->second.share) << name << " " << id;
      // A twentieth of what it was owed is gone: it looks no longer where it looked.
      EXPECT_GE(account.owed() * 20, known->second.owed * 19) << name << " " << id;
    }
    for (const auto& [key, entry] : record)
      EXPECT_TRUE(key.first != name || now.contains(key.second)) << key.second << " has gone";
  }
}

}  // namespace
}  // namespace hooke::hunt
