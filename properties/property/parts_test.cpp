// Worlds whose agents have the parts that are hooke's own, of which the default space draws none: a
// part changes nothing about the invariants that hardened agents keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {
namespace {

/// One world of each part for every 30 random worlds that are asked for: 100 unless set otherwise.
std::uint64_t worlds_of_a_part() {
  const char* const given = std::getenv("HOOKE_RANDOM_WORLDS");
  return given == nullptr ? 100 : static_cast<std::uint64_t>(std::max(1, std::atoi(given) / 30));
}

struct Part {
  const char* name;
  std::vector<std::string> Swarm::*kind;
  bool needs_static = false;
};

class Parts : public testing::TestWithParam<Part> {};

TEST_P(Parts, of_hardened_agents_keep_every_invariant) {
  const Part& part = GetParam();
  Swarm swarm;
  swarm.variants = {model::Variant::hardened};
  if (part.needs_static) swarm.backends = {"static"};
  swarm.*part.kind = {part.name};
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  std::int64_t judged = 0;
  for (std::uint64_t seed = 0; seed < worlds_of_a_part(); ++seed) {
    const auto report = run(kernel, draw(swarm, seed), hunting_options(false), invariants);
    EXPECT_EQ(report.harness_failure, "") << seed;
    for (const properties::Violation& violation : report.violations)
      EXPECT_NE(violation.limit, "") << seed << ": " << violation.witness;
    for (const auto& [id, account] : report.accounts) judged += account.judged();
  }
  EXPECT_GT(judged, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Parts,
                         testing::Values(Part{"backoff:first=2s", &Swarm::restart_policies},
                                         Part{"per-worker", &Swarm::restart_policies, true},
                                         Part{"rerun", &Swarm::restart_policies},
                                         Part{"failed-only", &Swarm::restart_policies, true},
                                         Part{"failed-only:rejoin=yes", &Swarm::restart_policies},
                                         Part{"patient", &Swarm::process_launchers},
                                         Part{"pool", &Swarm::process_launchers},
                                         Part{"graceful:limit=20s", &Swarm::shutdowns},
                                         Part{"strict", &Swarm::shutdowns}),
                         [](const testing::TestParamInfo<Part>& part) {
                           std::string name = part.param.name;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace hooke::hunt
