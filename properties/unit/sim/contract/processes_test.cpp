// Children and signals.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "contract_world.h"
#include "sim/port/sync.h"

namespace hooke::contract {
namespace {

using sim::Signal;

class Processes : public PortContract {
 protected:
  static sim::SpawnRequest request(std::vector<std::string> argv, Ports& ports) {
    return {std::move(argv), ports.processes.environment(), true, {}, {}};
  }
  static sim::Pid start(Ports& ports, std::vector<std::string> argv) {
    auto pid = ports.processes.spawn(request(std::move(argv), ports));
    EXPECT_TRUE(pid.ok()) << (pid.ok() ? "" : pid.failure().detail);
    return pid.ok() ? pid.value() : sim::Pid{};
  }
  static std::optional<int> end_of(Ports& ports, sim::Pid pid) {
    const auto status = ports.processes.wait(pid, in(ports, 20s));
    return status ? std::optional(status->as_python()) : std::nullopt;
  }
};
INSTANTIATE_TEST_SUITE_P(In, Processes, testing::Values("simulated", "real"), world_name);

TEST_P(Processes, give_their_exit_code) {
  run([&](Ports& ports) { EXPECT_EQ(end_of(ports, start(ports, place->ends_with_3())), 3); });
}

TEST_P(Processes, are_reaped_once) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->ends_with_3());
    EXPECT_EQ(end_of(ports, pid), 3);
    EXPECT_FALSE(ports.processes.poll(pid).has_value());
    EXPECT_FALSE(ports.processes.signal(pid, Signal::term).ok());
  });
}

TEST_P(Processes, that_run_are_waited_for_until_the_deadline) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->never_ends());
    EXPECT_FALSE(ports.processes.poll(pid).has_value());
    EXPECT_FALSE(ports.processes.wait(pid, in(ports, 20ms)).has_value());
    EXPECT_TRUE(ports.processes.signal(pid, Signal::kill).ok());
    EXPECT_EQ(end_of(ports, pid), -9);
  });
}

/// SIGCHLD, SIGCONT, SIGURG and SIGWINCH (signal(7)), and SIGTSTP, SIGTTIN and SIGTTOU in a session
/// without a shell.
TEST_P(Processes, are_not_ended_by_signals_that_are_ignored_unless_they_are_caught) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->never_ends());
    for (const int number : {17, 18, 20, 21, 22, 23, 28}) {
      EXPECT_TRUE(ports.processes.signal(pid, static_cast<Signal>(number)).ok());
    }
    EXPECT_FALSE(ports.processes.wait(pid, in(ports, 20ms)).has_value());
    EXPECT_TRUE(ports.processes.signal(pid, Signal::term).ok());
    EXPECT_EQ(end_of(ports, pid), -15);
  });
}

TEST_P(Processes, may_answer_a_signal_in_their_own_way) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->ends_with_7_at_term());
    sleep(ports, 300ms);  // for the handler to be there
    EXPECT_TRUE(ports.processes.signal(pid, Signal::term).ok());
    EXPECT_EQ(end_of(ports, pid), 7);
  });
}

TEST_P(Processes, of_a_session_are_signalled_together) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->never_ends());
    EXPECT_TRUE(ports.processes.signal_group(pid, Signal::term).ok());
    EXPECT_EQ(end_of(ports, pid), -15);
    EXPECT_FALSE(ports.processes.signal_group(pid, Signal::term).ok());
  });
}

TEST_P(Processes, can_be_waited_for_by_several_fibers_and_each_other_fiber_goes_on) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->never_ends());
    int turns = 0;
    sim::Scope scope(ports.executor);
    scope.spawn("waits", [&] { EXPECT_EQ(end_of(ports, pid), -9); });
    scope.spawn("works", [&] {
      for (; turns < 10; ++turns) sleep(ports, 1ms);
      static_cast<void>(ports.processes.signal(pid, Signal::kill));
    });
    scope.join();
    EXPECT_EQ(turns, 10);
  });
}

TEST_P(Processes, that_do_not_exist_cannot_be_started) {
  run([](Ports& ports) {
    const auto pid = ports.processes.spawn(request({"/no/such/program"}, ports));
    ASSERT_FALSE(pid.ok());
    EXPECT_EQ(to_string(pid.failure().fault), "not found");
  });
}

TEST_P(Processes, that_are_to_die_with_their_parent_are_started_like_others) {
  run([&](Ports& ports) {
    sim::SpawnRequest leased = request(place->ends_with_3(), ports);
    leased.dies_with_parent = true;
    const auto pid = ports.processes.spawn(leased);
    ASSERT_TRUE(pid.ok());
    EXPECT_EQ(end_of(ports, pid.value()), 3);
    for (const char* program : {"/no/such/program", "no-such-program"}) {
      leased.argv = {program};
      EXPECT_EQ(fault_of(ports.processes.spawn(leased)), "not found") << program;
    }
  });
}

/// Gone, or only waiting to be reaped.
bool is_over(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number;
  std::string name;
  std::string state;
  return !(stat >> number >> name >> state) || state == "Z";
}

TEST(RealProcesses, die_with_their_parent_when_that_was_asked_for) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    real::RealProcess process({"test"});
    process.run([&](Ports& ports) {
      sim::SpawnRequest leased{{"sleep", "1000000"}, ports.processes.environment(), true, {}, {}};
      leased.dies_with_parent = true;
      const pid_t child = ports.processes.spawn(leased).value().value;
      sleep(ports, 300ms);  // for the wish to reach the kernel
      if (write(ends[1], &child, sizeof(child)) == sizeof(child)) sleep(ports, 1000s);
      return 1;
    });
    _exit(1);
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  EXPECT_FALSE(is_over(child));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (int look = 0; look < 1000 && !is_over(child); ++look) usleep(10'000);
  EXPECT_TRUE(is_over(child));
  close(ends[0]);
  close(ends[1]);
}

TEST_P(Processes, take_caught_signals_in_their_order) {
  run([](Ports& ports) {
    EXPECT_TRUE(ports.processes.catch_signal(Signal::usr1).ok());
    EXPECT_TRUE(ports.processes.catch_signal(Signal::hup).ok());
    EXPECT_FALSE(ports.processes.wait_signal(in(ports, 10ms)));
    EXPECT_TRUE(ports.processes.signal(ports.processes.self(), Signal::usr1).ok());
    EXPECT_TRUE(ports.processes.wait_signal(in(ports, 10s)));
    EXPECT_EQ(ports.processes.take_signal(), Signal::usr1);
    EXPECT_EQ(ports.processes.take_signal(), std::nullopt);
    EXPECT_TRUE(ports.processes.signal(ports.processes.self(), Signal::hup).ok());
    EXPECT_TRUE(ports.processes.wait_signal(in(ports, 10s)));
    EXPECT_EQ(ports.processes.take_signal(), Signal::hup);
  });
}

TEST_P(Processes, wait_for_a_signal_or_for_a_fiber_of_theirs) {
  run([](Ports& ports) {
    EXPECT_TRUE(ports.processes.catch_signal(Signal::usr1).ok());
    sim::Scope scope(ports.executor);
    const sim::ParkTicket mine = ports.executor.ticket();
    scope.spawn("waker", [&ports, mine] {
      ports.executor.sleep_until(in(ports, 10ms));
      EXPECT_TRUE(ports.executor.wake(mine));
    });
    const sim::MonotonicTime deadline = in(ports, 10s);
    EXPECT_FALSE(ports.processes.wait_signal(deadline));
    EXPECT_LT(ports.clock.monotonic_now(), deadline);
    // And afterwards as if there had been no wake.
    EXPECT_FALSE(ports.processes.wait_signal(in(ports, 10ms)));
    EXPECT_TRUE(ports.processes.signal(ports.processes.self(), Signal::usr1).ok());
    EXPECT_TRUE(ports.processes.wait_signal(std::nullopt));
  });
}

TEST_P(Processes, wake_for_a_signal_that_comes_while_they_wait) {
  run([](Ports& ports) {
    EXPECT_TRUE(ports.processes.catch_signal(Signal::usr1).ok());
    sim::Scope scope(ports.executor);
    scope.spawn("sender", [&] {
      sleep(ports, 10ms);
      static_cast<void>(ports.processes.signal(ports.processes.self(), Signal::usr1));
    });
    EXPECT_TRUE(ports.processes.wait_signal(in(ports, 10s)));
    scope.join();
  });
}

TEST_P(Processes, cannot_catch_what_cannot_be_caught) {
  run([](Ports& ports) {
    EXPECT_FALSE(ports.processes.catch_signal(Signal::kill).ok());
    EXPECT_FALSE(ports.processes.catch_signal(Signal::stop).ok());
  });
}

TEST_P(Processes, stand_still_and_go_on_when_told) {
  run([&](Ports& ports) {
    const sim::Pid pid = start(ports, place->never_ends());
    EXPECT_TRUE(ports.processes.signal(pid, Signal::stop).ok());
    sleep(ports, 20ms);
    EXPECT_FALSE(ports.processes.poll(pid).has_value());
    EXPECT_TRUE(ports.processes.signal(pid, Signal::cont).ok());
    EXPECT_TRUE(ports.processes.signal(pid, Signal::term).ok());
    EXPECT_EQ(end_of(ports, pid), -15);
  });
}

TEST_P(Processes, tell_what_they_do) {
  run([&](Ports& ports) {
    const sim::Pid child = start(ports, place->never_ends());
    const auto becomes = [&](char state) {
      for (int i = 0; i < 1000 && ports.processes.state(child) != state; ++i) sleep(ports, 1ms);
      return ports.processes.state(child) == state;
    };
    EXPECT_TRUE(becomes('S'));
    static_cast<void>(ports.processes.signal(child, sim::Signal::stop));
    EXPECT_TRUE(becomes('T'));
    static_cast<void>(ports.processes.signal(child, sim::Signal::kill));
    EXPECT_TRUE(becomes('Z')) << "until it is reaped";
    EXPECT_TRUE(ports.processes.wait(child, std::nullopt).has_value());
    EXPECT_EQ(ports.processes.state(child), std::nullopt);
  });
}

TEST(RealProcesses, asleep_in_the_kernel_are_in_state_d) {
  RealPlace place;
  place.run([](Ports& ports) {
    const pid_t sleeper = fork();
    if (sleeper == 0) {  // asleep there until its child ends or becomes another program
      setpgid(0, 0);
      if (vfork() == 0) pause();
      _exit(0);
    }
    std::optional<char> state;
    for (int i = 0; i < 1000 && state != 'D'; ++i) {
      sleep(ports, 1ms);
      state = ports.processes.state(sim::Pid{sleeper});
    }
    EXPECT_EQ(state, 'D');
    static_cast<void>(ports.processes.signal_group(sim::Pid{sleeper}, Signal::kill));
    EXPECT_EQ(waitpid(sleeper, nullptr, 0), sleeper);
  });
}

}  // namespace
}  // namespace hooke::contract
