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
  /// The first rendezvous of each run ends so.
  void join_fails(std::function<void(std::int64_t call)> raise) {
    (*this)[0].rendezvous.join = [this, raise](Ports& ports, std::int64_t call) {
      raise(call);
      return round_of(ports, call + 1);
    };
  }
};

TEST(Rerun, an_agent_with_an_error_of_its_own_closes_nothing_and_comes_back_to_the_run) {
  HardenedRerun job;
  job.join_fails([](std::int64_t call) {
    if (call == 0) throw RendezvousTimeoutError("x");
  });
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);  // when the work is done
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"error", "succeeded"}));
  EXPECT_EQ(job.texts("job.rerun", "next_run_id"), (Texts{"job"}));
}

TEST(Rerun, an_agent_comes_back_as_often_as_the_job_is_run) {
  HardenedRerun job;
  job.join_fails([](std::int64_t) { throw RendezvousTimeoutError("x"); });
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  EXPECT_EQ(job[0].rendezvous.leaves, 2);
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"error", "error"}));
}

TEST(Rerun, attempts_at_one_run_cost_none_at_the_next) {
  HardenedRerun job;
  job.join_fails([](std::int64_t call) {
    if (call == 1) throw RendezvousClosedError("x");
    if (call < 3) throw RendezvousTimeoutError("x");
  });
  job.start_and_run();
  EXPECT_EQ(job.texts("job.rerun", "next_run_id"), (Texts{"job", "job.run2", "job.run2"}));
  EXPECT_EQ(job.status(), 0);
}

TEST(Rerun, a_run_that_others_have_closed_is_over) {
  HardenedRerun job;
  job.join_fails([](std::int64_t call) {
    if (call == 0) throw RendezvousClosedError("x");
  });
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"error", "succeeded"}));
  EXPECT_EQ(job.texts("job.rerun", "next_run_id"), (Texts{"job.run2"}));
}

TEST(Rerun, a_run_that_has_lost_a_member_for_good_is_over_for_all) {
  HardenedRerun job;
  job.join_fails([](std::int64_t call) {
    if (call == 0) throw RendezvousJobLostError("x");
  });
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.shutdowns, 2);
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"error", "succeeded"}));
}

TEST(Rerun, an_agent_that_fails_while_the_others_go_on_comes_back_to_them) {
  HardenedRerun job;
  job[0].rendezvous.successor = [] { return Successor::complete; };
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"failed", "failed"}));
  EXPECT_EQ(job.texts("job.rerun", "next_run_id"), (Texts{"job"}));
}

TEST(Rerun, what_is_served_is_handed_on_to_the_next_run) {
  HardenedRerun job;
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.handed_on, 1);  // not by the last run
  EXPECT_EQ(job[0].rendezvous.lingers, 1);
}

}  // namespace
}  // namespace hooke::model
