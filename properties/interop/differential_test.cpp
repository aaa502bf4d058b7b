// Hooke's agents and PyTorch's in the same worlds, request by request.
#include "scenarios/guest/differential.h"

#include <iostream>

#include "job.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/guest/guest_runner.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::interop {
namespace {

#define HOOKE_NEEDS_TORCH() \
  if (torch_python().empty()) GTEST_SKIP() << "PyTorch is not available here"

scenario::Scenario library(const std::string& name) {
  return scenario::load_scenario_file((script("").parent_path().parent_path().parent_path() /
                                       "scenarios/library" / (name + ".json"))
                                          .string());
}

scenario::Differential both(const scenario::Scenario& world, guest::Zygote& torch) {
  kernel::Kernel kernel;
  return scenario::play_both(kernel, world, {}, properties::InvariantRegistry::with_builtins(),
                             torch);
}

std::string shown(const scenario::Differential& played) {
  const auto& first = played.comparison.first;
  return played.unsupported + played.ours.harness_failure + played.theirs.harness_failure +
         (first ? scenario::side_by_side(*first) : "");
}

TEST(Differential, hookes_agents_and_pytorchs_ask_and_decide_alike) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  for (const char* const name : {"worlds/late-joiner", "worlds/machine-lost",
                                 "worlds/worker-killed", "worlds/paused-agent"}) {
    const scenario::Differential played = both(library(name), *torch);
    EXPECT_EQ(shown(played), "") << name;
    EXPECT_GT(played.comparison.requests, 30U) << name;
    EXPECT_GT(played.comparison.decisions, 5U) << name;
  }
}

/// As hooke's agents of that release, which is what "torch-2.x" stands for then.
TEST(Differential, agents_of_1_13_ask_and_decide_as_hookes_of_1_13) {
  const std::string python = torch_python(model::Variant::torch_1_13);
  if (python.empty()) GTEST_SKIP() << "PyTorch 1.13 is not available here";
  const auto torch = scenario::start_torch(python);
  for (const char* const name :
       {"worlds/late-joiner", "worlds/worker-killed", "worlds/four-workers-meet"}) {
    const scenario::Differential played = both(library(name), *torch);
    EXPECT_EQ(shown(played), "") << name;
    EXPECT_GT(played.comparison.requests, 30U) << name;
    EXPECT_GT(played.comparison.decisions, 5U) << name;
  }
}

/// The smallest of mistakes: a number in PyTorch's rendezvous.
TEST(Differential, finds_a_cache_of_the_state_that_is_kept_for_two_seconds) {
  HOOKE_NEEDS_TORCH();
  const auto spoilt = scenario::start_torch(torch_python(), {{"planted_cache", R"(
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
dynamic_rendezvous._BackendRendezvousStateHolder.__init__.__defaults__ = (2,)
)"}});
  const scenario::Differential played = both(library("worlds/late-joiner"), *spoilt);
  ASSERT_TRUE(played.comparison.first) << shown(played);
  EXPECT_FALSE(played.comparison.first->decision) << shown(played);
}

/// Plays random worlds with a PyTorch in which `mistake` is planted, until it shows. The world's
/// number; nullopt when so many are not enough.
std::optional<std::uint64_t> first_world_that_differs(const std::string& mistake,
                                                      std::uint64_t worlds_max) {
  const auto spoilt = scenario::start_torch(torch_python(), {{"planted_mistake", mistake}});
  const hunt::Swarm swarm = hunt::differential_swarm();
  for (std::uint64_t seed = 0; seed < worlds_max; ++seed) {
    kernel::Kernel kernel;
    const scenario::Differential played =
        scenario::play_both(kernel, hunt::draw(swarm, seed), hunt::hunting_options(false),
                            properties::InvariantRegistry::with_builtins(), *spoilt);
    const auto& first = played.comparison.first;
    if (!first) continue;
    std::cout << "world " << seed << " differs:\n" << scenario::side_by_side(*first);
    return seed;
  }
  return std::nullopt;
}

TEST(Differential, finds_small_mistakes_within_a_hundred_random_worlds) {
  HOOKE_NEEDS_TORCH();
  EXPECT_EQ(first_world_that_differs("import torch", 5), std::nullopt)
      << "the real PyTorch differs";
  EXPECT_TRUE(first_world_that_differs(R"(
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
dynamic_rendezvous._BackendRendezvousStateHolder.__init__.__defaults__ = (2,)
)",
                                       100))
      << "a cache of the state that is kept for 2 s instead of 1 s";
  EXPECT_TRUE(first_world_that_differs(R"(
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
delay = dynamic_rendezvous._delay
dynamic_rendezvous._delay = lambda seconds: delay(0.9 if seconds == 1 else seconds)
)",
                                       100))
      << "a poll that comes after 0.9 s instead of 1 s";
}

/// And one in hooke's: defects are its agents' alone.
TEST(Differential, finds_a_mistake_planted_in_hookes_agents) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  scenario::Scenario world = library("worlds/late-joiner");
  world.protocol.defects = {"planted.rendezvous.beats_seldom"};
  const scenario::Differential played = both(world, *torch);
  ASSERT_TRUE(played.comparison.first) << shown(played);
}

/// Up to 0.3 s before its first join, by the same draw; the requests are equal to the nanosecond.
TEST(Differential, a_node_that_is_alone_by_its_settings_waits_as_long_as_pytorchs_before_it_joins) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  for (const char* const seed : {"1", "2", "3"}) {
    const scenario::Differential played =
        both(scenario::load_scenario(
                 std::string(R"({"version": 1, "name": "alone", "seed": )") + seed + R"(,
               "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1},
                            "agent": {"environment": {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}}},
               "cluster": {"nodes": [{"id": "a"}], "store_host": "external"},
               "workers": {"per_node": 1, "program": [{"run": "1s"}, {"exit": 0}]}})",
                 "alone"),
             *torch);
    EXPECT_EQ(shown(played), "") << seed;
    EXPECT_GT(played.comparison.requests, 5U) << seed;
  }
}

/// In a join, where torchrun closes the rendezvous for it afterwards; the signal is told before.
TEST(Differential, a_keyboard_interrupt_is_told_before_the_rendezvous_is_closed_for_it) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  const scenario::Differential played =
      both(scenario::load_scenario(R"({"version": 1, "name": "interrupted", "seed": 1,
               "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2}},
               "cluster": {"nodes": [{"id": "a"}, {"id": "b", "start": "20s"}],
                           "store_host": "external"},
               "workers": {"per_node": 1, "program": [{"run": "1s"}, {"exit": 0}]},
               "timeline": [{"at": "5s", "do": "agent.signal", "node": "a", "signal": "SIGINT"}]})",
                                   "interrupted"),
           *torch);
  EXPECT_EQ(shown(played), "");
  EXPECT_GT(played.comparison.decisions, 2U);
}

/// Its keep-alive waits for a store that is silent, with the lock of the heartbeats.
TEST(Differential, an_agent_that_waits_for_its_keep_alive_hears_a_signal) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  const scenario::Differential played =
      both(scenario::load_scenario(R"({"version": 1, "name": "deaf", "seed": 1,
               "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2,
                                           "keep_alive": {"interval": "1s"}}},
               "cluster": {"nodes": [{"id": "a"}, {"id": "b"}], "store_host": "external"},
               "workers": {"per_node": 1, "program": [{"run": "100s"}, {"exit": 0}]},
               "timeline": [{"at": "8s", "do": "net.partition", "from": ["b"],
                             "to": ["store_host"], "for": "40s"},
                            {"at": "20s", "do": "agent.signal", "node": "b"}]})",
                                   "deaf"),
           *torch);
  EXPECT_EQ(shown(played), "");
  EXPECT_GT(played.comparison.decisions, 5U);
}

/// The wait for the others is deaf, and its time-out comes first.
TEST(Differential, a_signal_in_an_exit_barrier_that_times_out_is_told_and_the_time_out_is_not) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  const scenario::Differential played =
      both(scenario::load_scenario(R"({"version": 1, "name": "barrier", "seed": 1,
               "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2},
                            "agent": {"exit_barrier_timeout": "20s"}},
               "cluster": {"nodes": [{"id": "a"}, {"id": "b"}], "store_host": "external"},
               "workers": {"per_node": 1, "program": [{"run": "1s"}, {"exit": 0}],
                           "overrides": {"b": [{"run": "100s"}, {"exit": 0}]}},
               "timeline": [{"at": "10s", "do": "agent.signal", "node": "a"}]})",
                                   "barrier"),
           *torch);
  EXPECT_EQ(shown(played), "");
  EXPECT_GT(played.comparison.decisions, 5U);
}

scenario::Scenario struck(const std::string& fault, const std::string& point) {
  return scenario::load_scenario(R"({"version": 1, "name": "struck", "seed": 1,
      "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 2,
                                  "timeouts": {"join": "60s", "last_call": "5s"}},
                   "agent": {"max_restarts": 1, "exit_barrier_timeout": "30s"}},
      "cluster": {"nodes": [{"id": "a..b"}], "store_host": "external"},
      "workers": {"program": [{"run": "20s"}, {"exit": 0}]},
      "timeline": [{"when": {"fault_point": ")" +
                                     point + R"(", "node": "b"}, "node": "b", )" + fault + "}]}",
                                 "struck");
}

TEST(Differential, an_error_raised_at_a_fault_point_ends_both_alike) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  for (const std::string_view point : scenario::fault_points_of_torchrun()) {
    for (const std::string error : {"OSError", "RendezvousTimeoutError", "RendezvousClosedError",
                                    "RendezvousGracefulExitError"}) {
      const scenario::Differential played = both(
          struck(R"("do": "agent.raise", "text": ")" + error + "\"", std::string(point)), *torch);
      EXPECT_EQ(shown(played), "") << error << " at " << point;
      EXPECT_GT(played.comparison.decisions, 0U);
    }
  }
}

/// From its start, and from where its workers run.
TEST(Differential, a_disk_that_is_full_or_silent_stops_both_at_the_same_places) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  for (const std::string point : {"agent.started", "agent.joined", "agent.workers_started"}) {
    for (const std::string fault : {R"("do": "disk.full")", R"("do": "disk.stall", "for": "20s")",
                                    R"("do": "disk.short_write", "amount": 3)"}) {
      const scenario::Differential played = both(struck(fault, point), *torch);
      EXPECT_EQ(shown(played), "") << fault << " at " << point;
      EXPECT_GT(played.comparison.decisions, 4U);
    }
  }
}

/// Heartbeats end, and the others evict the node.
TEST(Differential, a_keep_alive_that_dies_dies_in_both) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  for (const std::string task : {"keep_alive", "watchdog"}) {
    scenario::Scenario world =
        struck(R"("do": "thread.dies", "text": ")" + task + "\"", "agent.workers_started");
    world.protocol.agent.environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
    world.workers.program.front().span = 60s;
    world.timeline.front().trigger.after = 1s;
    const scenario::Differential played = both(world, *torch);
    EXPECT_EQ(shown(played), "") << task;
    EXPECT_GT(played.comparison.requests, 20U);
  }
}

/// The first waits for the thread of its keep-alive to run, and the other is ready before that.
TEST(Differential, an_agent_that_begins_when_another_has_joined_connects_before_that_goes_on) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  const scenario::Differential played =
      both(scenario::load_scenario(R"({"version": 1, "name": "joined", "seed": 0,
               "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1}},
               "cluster": {"nodes": [{"id": "a"}]},
               "workers": {"program": []},
               "timeline": [{"when": {"fault_point": "rendezvous.joined"}, "do": "agent.start"}]})",
                                   "joined"),
           *torch);
  EXPECT_EQ(shown(played), "");
  EXPECT_GT(played.comparison.requests, 20U);
  EXPECT_GT(played.comparison.decisions, 5U);
}

/// Nodes of one job, some of which are hooke's.
TEST(Differential, pytorchs_agents_play_beside_hookes_hardened_ones) {
  HOOKE_NEEDS_TORCH();
  const auto torch = scenario::start_torch(torch_python());
  scenario::Scenario world = library("worlds/late-joiner");
  world.cluster.nodes.front().variant = model::Variant::hardened;
  const scenario::Differential played = both(world, *torch);
  EXPECT_EQ(shown(played), "");
  EXPECT_TRUE(played.theirs.passed);
}

}  // namespace
}  // namespace hooke::interop
