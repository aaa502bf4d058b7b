// What a Python agent is told, what is refused to it, and what is read off it. No Python is needed.
#include "scenarios/guest/guest_agent.h"

#include <regex>
#include <set>

#include "properties/unit/sim/world/test_world.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/guest/agent_watch.h"
#include "scenarios/guest/guest_runner.h"
#include "scenarios/guest/python_sources.h"

namespace hooke::scenario {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

model::LaunchConfig config() {
  model::LaunchConfig out;
  out.min_nodes = 2;
  out.max_nodes = 4;
  out.nproc_per_node = 2;
  out.run_id = "job";
  out.rdzv_endpoint = "a:29400";
  out.rdzv_configs = {{"join_timeout", "600s"}, {"keep_alive_max_attempt", "3"}, {"is_host", "0"}};
  out.max_restarts = 5;
  out.command = {"worker"};
  return out;
}

TEST(GuestAgent, is_told_what_torchrun_takes) {
  EXPECT_THAT(torchrun_arguments(config()),
              ElementsAre("--nnodes=2:4", "--nproc_per_node=2", "--max_restarts=5",
                          "--monitor_interval=0.100000000", "--rdzv_backend=c10d",
                          "--rdzv_endpoint=a:29400", "--rdzv_id=job",
                          "--rdzv_conf=is_host=0,join_timeout=600,keep_alive_max_attempt=3",
                          "--no_python", "worker"));
}

TEST(GuestAgent, is_told_no_parts_of_a_second) {
  model::LaunchConfig fine = config();
  fine.rdzv_configs["join_timeout"] = "1500ms";
  EXPECT_THROW(static_cast<void>(torchrun_arguments(fine)), std::invalid_argument);
}

TEST(GuestAgent, is_told_how_long_workers_may_take_to_stop) {
  model::LaunchConfig patient = config();
  patient.shutdown_timeout = 60s;
  EXPECT_THAT(torchrun_arguments(patient), Contains("--shutdown_timeout=60"));
  patient.shutdown_timeout = 1500ms;
  EXPECT_THROW(static_cast<void>(torchrun_arguments(patient)), std::invalid_argument);
}

TEST(GuestAgent, plays_beside_hookes_hardened_agents) {
  Scenario scenario;
  scenario.cluster.nodes.resize(2);
  scenario.protocol.variant = model::Variant::hardened;
  EXPECT_THAT(unsupported_by_guests(scenario), ElementsAre("variant hardened alone"));
  scenario.cluster.nodes[1].variant = model::Variant::torch_2_x;
  EXPECT_THAT(unsupported_by_guests(scenario), IsEmpty());
  scenario.cluster.nodes[0].variant = model::Variant::torch_1_13;
  EXPECT_THAT(unsupported_by_guests(scenario), ElementsAre("variant torch-1.13"));
}

TEST(GuestAgent, cannot_play_everything) {
  Scenario scenario;
  scenario.cluster.nodes.resize(2);
  EXPECT_THAT(unsupported_by_guests(scenario), IsEmpty());
  scenario.protocol.rendezvous.backend = "file";
  EXPECT_THAT(unsupported_by_guests(scenario), IsEmpty());
  scenario.protocol.rendezvous.backend = "etcd-v2";
  scenario.protocol.rendezvous.join = 1500ms;
  scenario.protocol.agent.environment["TORCHELASTIC_HEALTH_CHECK_PORT"] = "8080";
  TimelineEntry dies;
  dies.what = "thread.dies";
  dies.text = "timer server";
  dies.trigger.fault_point = "agent.closing";
  TimelineEntry killed;
  killed.what = "agent.kill";
  killed.trigger.fault_point = "rendezvous.joined";
  scenario.timeline = {dies, killed};
  EXPECT_THAT(unsupported_by_guests(scenario),
              ElementsAre("backend etcd-v2", "TORCHELASTIC_HEALTH_CHECK_PORT",
                          "time-outs of parts of a second", "thread.dies of timer server",
                          "fault point agent.closing"));
}

TEST(GuestAgent, loses_the_threads_that_stand_for_tasks_of_hookes_agents) {
  EXPECT_EQ(task_of("RendezvousKeepAliveTimer_0"), "keep_alive");
  EXPECT_EQ(task_of("Thread-1 (_watchdog_loop)"), "watchdog");
  EXPECT_EQ(task_of("MainThread"), "");
  Scenario scenario;
  scenario.cluster.nodes.resize(2);
  TimelineEntry dies;
  dies.what = "thread.dies";
  dies.text = "watchdog";
  scenario.timeline = {dies};
  EXPECT_THAT(unsupported_by_guests(scenario), IsEmpty());
}

TEST(GuestAgent, raises_an_error_where_hookes_agent_does_which_is_at_a_fault_point) {
  Scenario scenario;
  scenario.cluster.nodes.resize(2);
  TimelineEntry raise;
  raise.what = "agent.raise";
  raise.text = "OSError";
  scenario.timeline = {raise};
  EXPECT_THAT(unsupported_by_guests(scenario), ElementsAre("agent.raise away from a fault point"));
  scenario.timeline[0].trigger.fault_point = "agent.joined";
  EXPECT_THAT(unsupported_by_guests(scenario), IsEmpty());
  scenario.timeline[0].trigger.after = 1s;
  EXPECT_THAT(unsupported_by_guests(scenario), ElementsAre("agent.raise away from a fault point"));
}

/// The shim's names of places and the table's.
TEST(GuestAgent, can_be_struck_at_the_fault_points_that_torchrun_has) {
  const std::regex point(
      R"re((?:before|after|reach|inside|within|before_barrier)\([^)\n]*'([a-z_.]+)'\))re");
  std::set<std::string> set;
  for (const guest::Module& module : torch_modules()) {
    const std::string& text = module.source;
    for (std::sregex_iterator match(text.begin(), text.end(), point), end; match != end; ++match)
      set.insert((*match)[1].str());
  }
  const auto table = fault_points_of_torchrun();
  EXPECT_EQ(set, std::set<std::string>(table.begin(), table.end()));
  EXPECT_LT(table.size(), fault_points().size());
}

/// An agent that says `lines` and whose store says where the workers meet.
std::vector<std::string> events_of(const std::function<void(AgentWatch&)>& agent) {
  world::TestWorld test;
  const model::LaunchConfig settings = config();
  const sim::NodeId node = test.node("a");
  test.start(node, "agent", [&](sim::Ports& ports) {
    AgentWatch watch(ports, settings);
    agent(watch);
    return 0;
  });
  test.run();
  return test.events.lines;
}

TEST(GuestAgent, is_known_by_its_log_and_its_workers) {
  const auto events = events_of([](AgentWatch& watch) {
    watch.on_line(
        "I0115 dynamic_rendezvous.py:1155] The node 'a_100_0' attempts to join the next "
        "round of the rendezvous 'job'.");
    watch.on_line(
        "I0115 dynamic_rendezvous.py:1191] The node 'a_100_0' has joined round 7 of the "
        "rendezvous 'job' as rank 1 in a world of size 3.");
    watch.on_store({"get", "/torch.rendezvous.job.7/MASTER_ADDR", {}, {}, sim::Value("b"), {}});
    watch.on_store({"get", "/torch.rendezvous.job.7/MASTER_PORT", {}, {}, sim::Value("1234"), {}});
    watch.on_ranks(2, 6);
    for (int local = 0; local < 2; ++local) {
      sim::SpawnRequest request;
      request.environment = {{"LOCAL_RANK", std::to_string(local)},
                             {"RANK", std::to_string(2 + local)},
                             {"WORLD_SIZE", "6"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"MASTER_ADDR", "b"},
                             {"MASTER_PORT", "1234"}};
      watch.on_spawned(sim::Pid{101 + local}, request);
    }
    watch.on_reaped(sim::Pid{102}, -9);
    watch.on_line(
        "I0115 api.py:942] [default] Worker group FAILED. 5/5 attempts left; will restart "
        "worker group");
    watch.on_signalled(sim::Pid{101}, sim::Signal::term);
    watch.on_ended("ChildFailedError", "why", 0, 1);
  });
  const std::string agent = " 0/100 ";
  EXPECT_THAT(events, Contains("rendezvous.joining" + agent +
                               "run_id=job descriptor=a_100_0 held_round=0"));
  EXPECT_THAT(events, Contains("rendezvous.joined" + agent +
                               "run_id=job descriptor=a_100_0 round=7 rank=1 world_size=3 "
                               "master_addr=b master_port=1234"));
  EXPECT_THAT(events, Contains("ranks.assigned" + agent +
                               "run_id=job round=7 group_rank=1 group_world_size=3 base_rank=2 "
                               "world_size=6"));
  EXPECT_THAT(events, Contains("worker.started" + agent +
                               "run_id=job round=7 worker_pid=102 local_rank=1 rank=3 world_size=6 "
                               "restart_count=0 master=b:1234"));
  EXPECT_THAT(events, Contains("group.state" + agent + "state=HEALTHY restart_count=0"));
  EXPECT_THAT(events, Contains("worker.ended" + agent +
                               "worker_pid=102 local_rank=1 rank=3 status=-9 stopped=0"));
  EXPECT_THAT(events, Contains("group.restarting" + agent +
                               "cause=worker_failure remaining_restarts=4 round=7"));
  EXPECT_THAT(events,
              Contains("worker.signalled" + agent + "worker_pid=101 signal=15 reason=stop"));
  EXPECT_THAT(events, Contains("agent.finished" + agent +
                               "outcome=failed exit_code=1 detail=ChildFailedError: why"));
}

TEST(GuestAgent, sees_a_node_that_waits_where_it_restarts_for_it) {
  EXPECT_THAT(events_of([](AgentWatch& watch) {
                watch.on_line(
                    "api.py:963] [default] Detected 2 new nodes from group_rank=0; will restart "
                    "worker group");
              }),
              Contains("rendezvous.waiting_seen 0/100 run_id=job round=0 waiting=2"));
}

TEST(GuestAgent, tells_of_a_worker_that_sleeps_in_the_kernel) {
  const auto events = events_of([](AgentWatch& watch) {
    sim::SpawnRequest request;
    request.environment = {
        {"LOCAL_RANK", "1"}, {"RANK", "3"}, {"MASTER_ADDR", "b"}, {"MASTER_PORT", "1234"}};
    watch.on_spawned(sim::Pid{101}, request);
    watch.on_line(
        "[default] Worker pid=101 entered uninterruptible sleep (D-state); will mark UNHEALTHY if "
        "it remains for 20.0s.");
    watch.on_line(
        "[default] Worker pid=101 stuck in uninterruptible sleep (D-state) for 20.0s (>= 20.0s); "
        "marking worker group UNHEALTHY and disabling restarts.");
    // Not asleep: it is no process of this machine.
    watch.on_line("Process 101 did not exit after SIGKILL within 30s; abandoning and continuing");
  });
  const std::string sleeper =
      "worker.uninterruptible 0/100 worker_pid=101 local_rank=1 rank=3 span=0 ";
  EXPECT_THAT(events, Contains(sleeper + "consequence=watched"));
  EXPECT_THAT(events, Contains(sleeper + "consequence=unhealthy"));
  EXPECT_THAT(events, Not(Contains(sleeper + "consequence=abandoned")));
}

TEST(GuestAgent, ends_as_torchrun_says) {
  const auto outcome = [](const std::string& error, std::int64_t signal, bool gracefully) {
    std::string found;
    for (const std::string& line : events_of([&](AgentWatch& watch) {
           if (gracefully) watch.on_line("api.py:751] Rendezvous gracefully exited: x");
           watch.on_ended(error, "x", signal, 1);
         })) {
      if (line.starts_with("agent.finished")) found = line.substr(line.find("outcome="));
    }
    return found.substr(0, found.find(' '));
  };
  EXPECT_EQ(outcome("", 0, false), "outcome=succeeded");
  EXPECT_EQ(outcome("ChildFailedError", 0, false), "outcome=failed");
  EXPECT_EQ(outcome("SignalException", 15, false), "outcome=signalled");
  EXPECT_EQ(outcome("AttributeError", 0, true), "outcome=graceful_exit");
  EXPECT_EQ(outcome("RendezvousTimeoutError", 0, false), "outcome=error");
}

TEST(GuestAgent, tells_of_its_signal_when_that_ends_it) {
  const std::vector<std::string> events = events_of([](AgentWatch& watch) {
    watch.on_own_signal(2, "KeyboardInterrupt");
    watch.on_own_signal(15, "SignalException");
  });
  EXPECT_THAT(events, Contains("agent.signalled 0/100 signal=2 phase=before workers"));
  EXPECT_THAT(events, Contains("agent.signalled 0/100 signal=15 phase=running"));
}

/// The model tells of what fails before the agent has its seat, and of nothing after that.
TEST(GuestAgent, has_failed_to_join_only_while_it_joins) {
  const auto failures = [](const std::string& last_line) {
    std::string found;
    for (const std::string& line : events_of([&](AgentWatch& watch) {
           watch.on_line(
               "] The node 'a_100_0' attempts to join the next round of the rendezvous '");
           watch.on_line(last_line);
           watch.on_join_failed("RendezvousTimeoutError", "x");
           watch.on_ended("RendezvousTimeoutError", "x", 0, 1);
         })) {
      if (line.starts_with("rendezvous.failed")) found += line.substr(line.find("error=")) + ";";
    }
    return found;
  };
  EXPECT_EQ(failures("x"), "error=RendezvousTimeoutError detail=x;");
  EXPECT_EQ(
      failures("] The node 'a_100_0' has joined round 7 of the rendezvous 'job' as rank 1 in a "
               "world of size 3."),
      "");
}

/// torchrun says the same of each error; that of a store that was waited for too long has a class.
TEST(GuestAgent, leaves_the_exit_barrier_by_the_class_of_its_error) {
  const auto result = [](const std::string& error) {
    std::string found;
    for (const std::string& line : events_of([&](AgentWatch& watch) {
           watch.on_line("] Local worker group finished (WorkerState.SUCCEEDED). Waiting 300");
           watch.on_barrier_failed(error);
           watch.on_line("] Error waiting on exit barrier. Elapsed: 300.0 seconds");
         })) {
      if (line.starts_with("exit_barrier.left")) found = line.substr(line.find("result="));
    }
    return found.substr(0, found.find(' '));
  };
  EXPECT_EQ(result("DistStoreError"), "result=timed_out");
  EXPECT_EQ(result("DistNetworkError"), "result=failed");
}

/// What its timer server ends is not told as the agent's doing.
TEST(GuestAgent, tells_of_timers_that_expire) {
  using guest::Message;
  const auto events = events_of([](AgentWatch& watch) {
    sim::SpawnRequest request;
    request.environment = {{"LOCAL_RANK", "0"}, {"MASTER_ADDR", "b"}, {"MASTER_PORT", "1234"}};
    watch.on_spawned(sim::Pid{101}, request);
    watch.timers().on_told(Message::List{"watchdog started", "/t", 0, "", 0, 0});
    watch.timers().on_told(Message::List{"timer expired", "/t", 101, "step", 5, 9});
    watch.on_signalled(sim::Pid{101}, sim::Signal::kill);
    watch.timers().on_told(Message::List{"kill worker process", "/t", 101, "step", 5, 9});
    watch.on_line("file_based_local_timer.py] Error running watchdog");
    watch.on_signalled(sim::Pid{101}, sim::Signal::term);
  });
  EXPECT_THAT(events, Contains("watchdog.changed 0/100 change=watchdog started path=/t"));
  EXPECT_THAT(events, Contains("timer.expired 0/100 worker_pid=101 scope=step expires=5 signal=9"));
  EXPECT_THAT(events,
              Contains("timer.killed 0/100 worker_pid=101 scope=step expires=5 signal=9 there=1"));
  EXPECT_THAT(events, Contains(StartsWith("watchdog.failed 0/100 path=/t ")));
  EXPECT_THAT(events, Not(Contains(StartsWith("worker.signalled 0/100 worker_pid=101 signal=9"))));
  EXPECT_THAT(events, Contains(StartsWith("worker.signalled 0/100 worker_pid=101 signal=15")));
}

TEST(GuestRelease, is_the_latest_variant_that_is_no_newer_than_the_version) {
  using model::Variant;
  EXPECT_EQ(release_of("1.13.0a0+gitunknown"), Variant::torch_1_13);
  EXPECT_EQ(release_of("2.1.2"), Variant::torch_2_0);
  EXPECT_EQ(release_of("2.6.0+cu124"), Variant::torch_2_6);
  EXPECT_EQ(release_of("2.11.0"), Variant::torch_2_9);
  EXPECT_EQ(release_of("2.13.0+cpu"), Variant::torch_2_x);
  EXPECT_EQ(release_of("2.14.1+cu130"), Variant::torch_2_x);
  EXPECT_THROW(release_of("1.12.1"), guest::GuestError);
  EXPECT_THROW(release_of("none"), guest::GuestError);
}

TEST(GuestRelease, plays_in_place_of_the_newest) {
  using model::Variant;
  Scenario mixed;
  for (const auto variant : {std::optional<Variant>(), std::optional(Variant::hardened)})
    mixed.cluster.nodes.emplace_back().variant = variant;
  EXPECT_TRUE(unsupported_by_guests(mixed).empty());
  const Scenario played = played_by(Variant::torch_2_6, mixed);
  EXPECT_EQ(played.variant_of(played.cluster.nodes[0]), Variant::torch_2_6);
  EXPECT_EQ(played.variant_of(played.cluster.nodes[1]), Variant::hardened);
  EXPECT_TRUE(unsupported_by_guests(played, Variant::torch_2_6).empty());
  EXPECT_FALSE(unsupported_by_guests(played).empty()) << "another interpreter";
  EXPECT_FALSE(
      unsupported_by_guests(played_by(Variant::torch_1_13, mixed), Variant::torch_1_13).empty())
      << "1.13 writes another state than the hardened node";
}

}  // namespace
}  // namespace hooke::scenario
