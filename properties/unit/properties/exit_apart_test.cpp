// An agent that meets no other hears nothing of the end of its job; one that runs it again has ended.
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

/// b, which joins in a store of its own, outlives the job of a until `end`, and then goes or not.
std::string verdict_of_one_apart(bool led_astray, sim::Duration end, bool goes) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).form(0, {"a"}).at(10s);
  if (led_astray) script.fault(0, "dns_alias", 0s, "a");
  script.agent_starts("b");
  if (led_astray) script.fault_took_effect(0, "dns_alias");
  script.serves_store("b", 29400).joining("b");
  if (led_astray) script.at(15s).fault_over(0, "dns_alias");
  script.at(200s);
  script.worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.leaves_barrier("a", "passed").closes("a").finishes("a", "succeeded", 0);
  if (goes) script.at(end).finishes("b", "error", 1);
  return verdict(script.at(end), "liveness.exit");
}

TEST(Exit, an_agent_that_was_led_to_serve_a_store_of_its_own_goes_when_it_has_tried_to_join) {
  EXPECT_EQ(verdict_of_one_apart(true, 200s + 485s + 600s, true), "kept");
  EXPECT_EQ(verdict_of_one_apart(true, 200s + 485s + 700s, false), "broken");
  EXPECT_EQ(verdict_of_one_apart(false, 200s + 486s, false), "broken");
}

/// c joins at 3 s, and is paused from 5 s to `wakes`; a and b end their job at 10 s. At 20 s etcd
/// forgets all, or not.
std::string verdict_of_one_that_sleeps(sim::Duration wakes, bool forgets) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(3s).agent_starts("c").joining("c").at(5s).fault(0, "process_pause", 0s, "c pid 100");
  script.at(10s).succeed({"a", "b"});
  if (wakes < 20s) script.at(wakes).fault_over(0, "process_pause");
  if (forgets) script.at(20s).fault(-1, "etcd_expiry", 0s, "s");
  if (wakes > 20s) script.at(wakes).fault_over(0, "process_pause");
  return verdict(script.at(2000s), "liveness.exit");
}

TEST(Exit, no_agent_hears_of_an_outcome_that_etcd_has_forgotten_while_it_was_paused) {
  EXPECT_EQ(verdict_of_one_that_sleeps(50s, true), "excused by the store's contents (etcd_expiry)");
  EXPECT_EQ(verdict_of_one_that_sleeps(15s, true), "broken") << "it could have asked";
  EXPECT_EQ(verdict_of_one_that_sleeps(50s, false), "broken");
}

TEST(Exit, a_process_that_runs_its_failed_job_again_has_ended_as_an_agent_of_that) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s).worker_ends("a", 0, 1).reaps("a");
  script.emit("a", script.agent_pid("a"), model::events::group_state, {"FAILED", 3});
  for (const char* const node : {"b", "a"})
    script.emit(node, script.agent_pid(node), model::events::job_rerun, {"job", "job.run2", 2});
  EXPECT_EQ(verdict(script.at(3600s), "liveness.exit"), "kept");
}

}  // namespace
}  // namespace hooke::properties::test
