// Mistakes planted in how agents write the rendezvous state, and the judge of its order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/unit/scenarios/test_scenario.h"

namespace hooke::scenario {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What is wrong with the order of a meeting of four, and one comes late; empty when nothing
/// is.
std::string wrong_order(const std::string& backend, const std::string& mistake) {
  Scenario scenario = job(4);
  scenario.protocol.rendezvous.backend = backend;
  scenario.protocol.rendezvous.min_nodes = 3;
  if (backend != "c10d") scenario.cluster.store_host.clear();
  scenario.cluster.nodes.back().start = 5s;
  if (!mistake.empty()) scenario.protocol.defects = {mistake};
  kernel::Kernel kernel;
  RunOptions options;
  options.determinism_check = false;
  const RunReport report =
      run(kernel, scenario, options, properties::InvariantRegistry::with_builtins());
  EXPECT_EQ(report.harness_failure, "");
  for (const properties::Violation& violation : report.violations) {
    if (violation.invariant != "safety.store_linearizable") continue;
    EXPECT_EQ(violation.limit, "");
    return violation.witness;
  }
  return "";
}

TEST(StoreLinearizable, shows_each_way_of_writing_over_what_others_wrote) {
  for (const char* backend : {"c10d", "etcd-v2", "etcd-v3"}) {
    EXPECT_THAT(wrong_order(backend, ""), IsEmpty()) << backend;
    EXPECT_THAT(wrong_order(backend, "planted.rendezvous.lost_write_believed"),
                HasSubstr("one of the two writes was lost"))
        << backend;
  }
  EXPECT_THAT(wrong_order("c10d", "planted.rendezvous.write_without_compare"),
              HasSubstr("one of the two writes was lost"));
  EXPECT_THAT(wrong_order("c10d", "planted.store.compare_ignored"), Not(IsEmpty()));
  for (const char* backend : {"etcd-v2", "etcd-v3"}) {
    EXPECT_THAT(wrong_order(backend, "planted.etcd.write_without_fence"),
                HasSubstr("one of the two writes was lost"))
        << backend;
  }
}

}  // namespace
}  // namespace hooke::scenario
