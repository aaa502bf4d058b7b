// When a hardened agent runs a job again, and what it leaves to agents whose run goes on.
#include <gtest/gtest.h>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

struct HardenedRerun : TestJob {
  HardenedRerun() {
    (*this)[0].config.variant = Variant::hardened;
    (*this)[0].config.restart_policy = PluginChoice::parse("rerun:runs=2");
  }
};

TEST(Rerun, what_is_served_is_handed_on_to_the_next_run) {
  HardenedRerun job;
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.handed_on, 1);  // not by the last run
  EXPECT_EQ(job[0].rendezvous.lingers, 1);
}

}  // namespace
}  // namespace hooke::model
