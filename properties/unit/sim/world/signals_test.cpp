// Signals: default action, caught, stopped, hung, uninterruptible; to one process.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;
using sim::Signal;

/// One process on one node that sleeps for ten seconds and notes when it ended.
struct Victim {
  explicit Victim(std::vector<Signal> caught = {}) {
    a = test.node("a");
    pid = test.start(a, "victim", [this, caught](Ports& ports) {
      for (const Signal signal : caught) {
        static_cast<void>(ports.processes.catch_signal(signal));
      }
      sleep(ports, seconds(10));
      finished = test.now();
      while (const auto signal = ports.processes.take_signal()) {
        taken.emplace_back(to_string(*signal));
      }
      return 0;
    });
  }
  std::shared_ptr<FaultId> send(Duration when, Signal signal) {
    return act(when, FaultKind::process_signal, {}, signal);
  }
  std::shared_ptr<FaultId> act(Duration when, FaultKind kind, Duration duration = {},
                               Signal signal = Signal::kill) {
    return test.inject_at(when, kind, [this, duration, signal](Fault& fault) {
      fault.node = a;
      fault.pid = pid;
      fault.duration = duration;
      fault.signal = signal;
      fault.amount = 42;
    });
  }
  [[nodiscard]] std::optional<int> status() const { return test.exit_code(a, pid); }

  TestWorld test;
  NodeId a;
  Pid pid;
  Duration finished{};
  Lines taken;
};

TEST(Signals, by_default_they_kill) {
  for (const Signal signal :
       {Signal::term, Signal::int_, Signal::hup, Signal::quit, Signal::usr1, Signal::kill}) {
    Victim victim;
    victim.send(seconds(1), signal);
    victim.test.run();
    EXPECT_EQ(victim.status(), -static_cast<int>(signal));
    EXPECT_EQ(victim.test.now(), seconds(1));
  }
}

TEST(Signals, a_number_that_is_none_of_linux_is_refused) {
  Victim victim;
  std::vector<sim::Fault> refused;
  victim.test.start(victim.a, "sender", [&](Ports& ports) {
    for (const int number : {65, 1000, -1}) {
      const auto signal = static_cast<Signal>(number);
      const auto one = ports.processes.signal(victim.pid, signal);
      const auto group = ports.processes.signal_group(victim.pid, signal);
      for (const auto& sent : {one, group}) {
        refused.push_back(sent ? sim::Fault::interrupted : sent.failure().fault);
      }
    }
    return 0;
  });
  victim.test.run();
  EXPECT_EQ(refused, std::vector<sim::Fault>(6, sim::Fault::denied));
  EXPECT_EQ(victim.status(), 0);
  EXPECT_EQ(victim.finished, seconds(10));
}

TEST(Signals, a_second_term_to_a_dying_process_does_nothing) {
  Victim victim;
  const auto first = victim.send(seconds(1), Signal::term);
  const auto second = victim.send(seconds(1), Signal::term);
  victim.test.run();
  EXPECT_EQ(victim.status(), -15);
  EXPECT_EQ(victim.test.events.count("process.ended"), 1U);
  EXPECT_EQ(victim.test.world->felt(*first), 1U);
  EXPECT_EQ(victim.test.world->felt(*second), 0U);
}

TEST(Signals, caught_ones_queue_in_order_and_equal_ones_not_yet_taken_are_one) {
  Victim victim({Signal::term, Signal::int_});
  victim.send(seconds(1), Signal::term);
  victim.send(seconds(2), Signal::int_);
  victim.send(seconds(3), Signal::term);
  victim.test.run();
  EXPECT_EQ(victim.status(), 0);
  EXPECT_EQ(victim.taken, (Lines{"SIGTERM", "SIGINT"}));
}

TEST(Signals, a_second_term_counts_when_the_first_has_been_taken) {
  TestWorld test;
  const NodeId a = test.node("a");
  std::vector<Duration> taken;
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    while (taken.size() < 2) {
      static_cast<void>(ports.processes.wait_signal(std::nullopt));
      static_cast<void>(ports.processes.take_signal());
      taken.push_back(test.now());
    }
    return 0;
  });
  for (const Duration when : {seconds(1), seconds(2)}) {
    test.inject_at(when, FaultKind::process_signal, [=](Fault& f) {
      f.node = a;
      f.pid = pid;
      f.signal = Signal::term;
    });
  }
  test.run();
  EXPECT_EQ(taken, (std::vector<Duration>{seconds(1), seconds(2)}));
}

TEST(Signals, kill_and_stop_cannot_be_caught) {
  TestWorld test;
  Lines seen;
  test.start(test.node("a"), "main", [&](Ports& ports) {
    for (const Signal signal : {Signal::kill, Signal::stop, Signal::term}) {
      const auto caught = ports.processes.catch_signal(signal);
      seen.emplace_back(caught ? "caught" : to_string(caught.failure().fault));
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"denied", "denied", "caught"}));
}

TEST(Signals, waiting_for_one_ends_when_it_comes_or_at_the_deadline) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    seen.emplace_back(ports.processes.wait_signal(in(ports, seconds(1))) ? "signal" : "late");
    seen.emplace_back(ports.processes.wait_signal(std::nullopt) ? "signal" : "late");
    seen.push_back(std::to_string(test.now() / seconds(1)));
    seen.emplace_back(ports.processes.wait_signal(std::nullopt) ? "signal" : "late");
    seen.emplace_back(to_string(*ports.processes.take_signal()));
    return 0;
  });
  test.inject_at(seconds(5), FaultKind::process_signal, [=](Fault& f) {
    f.node = a;
    f.pid = pid;
    f.signal = Signal::term;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"late", "signal", "5", "signal", "SIGTERM"}));
}

TEST(Signals, one_that_comes_before_the_program_has_run_kills_it_unstarted) {
  TestWorld test;
  const NodeId a = test.node("a");
  bool ran = false;
  test.world->register_program("worker", [&](Ports&) {
    ran = true;
    return 0;
  });
  std::optional<int> status;
  test.start(a, "parent", [&](Ports& ports) {
    const Pid pid = ports.processes.spawn({{"worker"}, {}, true, {}, {}}).value();
    static_cast<void>(ports.processes.signal(pid, Signal::term));  // during the spawn, as it were
    status = ports.processes.wait(pid, std::nullopt)->as_python();
    return 0;
  });
  test.run();
  EXPECT_FALSE(ran);
  EXPECT_EQ(status, -15);
}

/// SIGSTOP, and SIGTSTP, SIGTTIN and SIGTTOU of a terminal.
TEST(Signals, a_stopped_process_stands_still_and_goes_on) {
  for (const int number : {19, 20, 21, 22}) {
    Victim victim;
    victim.send(seconds(2), static_cast<Signal>(number));
    victim.send(seconds(15), Signal::cont);
    victim.test.run();
    EXPECT_EQ(victim.finished, seconds(15)) << number;  // its sleep was over long ago
    EXPECT_EQ(victim.status(), 0);
    EXPECT_EQ(victim.test.events.count("process.paused"), 1U) << number;
    EXPECT_EQ(victim.test.events.count("process.resumed"), 1U);
  }
}

TEST(Signals, to_a_stopped_process_they_wait_except_kill) {
  Victim victim;
  victim.act(seconds(2), FaultKind::process_pause, seconds(20));
  victim.send(seconds(3), Signal::term);
  victim.test.run_for(seconds(10));
  EXPECT_FALSE(victim.status().has_value());
  victim.test.run();
  EXPECT_EQ(victim.status(), -15);
  EXPECT_EQ(victim.test.now(), seconds(22));
  EXPECT_EQ(victim.finished, Duration::zero());
}

TEST(Signals, kill_ends_a_stopped_process_at_once) {
  Victim victim;
  victim.send(seconds(2), Signal::stop);
  victim.send(seconds(3), Signal::kill);
  victim.test.run();
  EXPECT_EQ(victim.status(), -9);
  EXPECT_EQ(victim.test.now(), seconds(3));
}

TEST(Signals, several_equal_ones_to_a_stopped_process_become_one) {
  Victim victim({Signal::term, Signal::usr1});
  victim.act(seconds(2), FaultKind::process_pause, seconds(3));
  for (const Signal signal : {Signal::term, Signal::usr1, Signal::term}) {
    victim.send(seconds(3), signal);
  }
  victim.test.run();
  EXPECT_EQ(victim.taken, (Lines{"SIGTERM", "SIGUSR1"}));
}

TEST(Signals, a_process_that_stops_itself_does_not_run_on) {
  TestWorld test;
  const NodeId a = test.node("a");
  Duration went_on{};
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    static_cast<void>(ports.processes.signal(ports.processes.self(), Signal::stop));
    went_on = test.now();
    return 0;
  });
  test.inject_at(seconds(4), FaultKind::process_signal, [=](Fault& f) {
    f.node = a;
    f.pid = pid;
    f.signal = Signal::cont;
  });
  test.run();
  EXPECT_EQ(went_on, seconds(4));
}

TEST(Signals, a_process_that_kills_itself_does_not_run_on) {
  TestWorld test;
  const NodeId a = test.node("a");
  bool ran_on = false;
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    static_cast<void>(ports.processes.signal(ports.processes.self(), Signal::kill));
    ran_on = true;
    return 0;
  });
  test.run();
  EXPECT_FALSE(ran_on);
  EXPECT_EQ(test.exit_code(a, pid), -9);
}

TEST(Signals, a_hung_process_makes_no_progress_and_still_dies) {
  Victim victim;
  const auto hang = victim.act(seconds(2), FaultKind::process_hang);
  victim.send(seconds(50), Signal::term);
  victim.test.run();
  EXPECT_EQ(victim.finished, Duration::zero());
  EXPECT_EQ(victim.status(), -15);
  EXPECT_EQ(victim.test.world->felt(*hang), 1U);
}

TEST(Signals, a_hung_process_ignores_what_it_has_caught_and_a_continue) {
  Victim victim({Signal::term});
  victim.act(seconds(2), FaultKind::process_hang);
  victim.send(seconds(30), Signal::term);
  victim.send(seconds(40), Signal::stop);
  victim.send(seconds(50), Signal::cont);
  victim.test.run();
  EXPECT_FALSE(victim.status().has_value());
  EXPECT_EQ(victim.finished, Duration::zero());
  victim.send(seconds(60), Signal::kill);
  victim.test.run();
  EXPECT_EQ(victim.status(), -9);
}

TEST(Signals, a_hang_can_end) {
  Victim victim({Signal::term});
  victim.act(seconds(2), FaultKind::process_hang, seconds(30));
  victim.send(seconds(20), Signal::term);
  victim.test.run();
  EXPECT_EQ(victim.finished, seconds(32));
  EXPECT_EQ(victim.taken, (Lines{"SIGTERM"}));
}

TEST(Signals, kill_waits_for_an_uninterruptible_sleep_to_end) {
  Victim victim;
  victim.act(seconds(2), FaultKind::process_unkillable, seconds(30));
  victim.send(seconds(3), Signal::kill);
  victim.send(seconds(4), Signal::term);
  victim.test.run_for(seconds(20));
  EXPECT_FALSE(victim.status().has_value());
  victim.test.run();
  EXPECT_EQ(victim.status(), -9);
  EXPECT_EQ(victim.test.now(), seconds(32));
}

TEST(Signals, an_unkillable_process_is_not_set_going_by_a_continue) {
  Victim victim;
  victim.act(seconds(2), FaultKind::process_unkillable);
  victim.send(seconds(3), Signal::stop);
  victim.send(seconds(4), Signal::cont);
  victim.test.run();
  EXPECT_EQ(victim.finished, Duration::zero());
  EXPECT_FALSE(victim.status().has_value());
}

TEST(Signals, the_exit_fault_ends_a_process_with_its_code) {
  Victim victim;
  const auto fault = victim.act(seconds(2), FaultKind::process_exit);
  victim.test.run();
  EXPECT_EQ(victim.status(), 42);
  EXPECT_EQ(victim.test.world->felt(*fault), 1U);
}

TEST(Signals, to_a_process_that_is_not_there_are_refused_and_not_felt) {
  Victim victim;
  victim.test.run();
  const auto late = victim.send(seconds(100), Signal::term);
  const auto exit = victim.act(seconds(100), FaultKind::process_exit);
  const auto pause = victim.act(seconds(100), FaultKind::process_pause);
  std::string outcome;
  victim.test.start(victim.a, "sender", [&](Ports& ports) {
    const auto sent = ports.processes.signal(victim.pid, Signal::term);
    outcome = sent ? "sent" : to_string(sent.failure().fault);
    return 0;
  });
  victim.test.run();
  EXPECT_EQ(outcome, "not found");
  for (const auto& fault : {late, exit, pause}) EXPECT_EQ(victim.test.world->felt(*fault), 0U);
}

TEST(Signals, wait_for_a_deaf_process_to_hear_again) {
  Victim victim({Signal::term});
  const auto deaf = victim.act(seconds(1), FaultKind::process_deaf, seconds(5));
  victim.send(seconds(2), Signal::term);
  victim.test.run();
  EXPECT_EQ(victim.taken, Lines{"SIGTERM"});
  EXPECT_EQ(victim.finished, seconds(10)) << "a deaf process goes on";
  EXPECT_EQ(victim.test.world->felt(*deaf), 1U);
}

TEST(Signals, that_are_not_caught_end_a_deaf_process_when_it_hears_again_and_sigkill_at_once) {
  for (const Signal signal : {Signal::int_, Signal::kill}) {
    Victim victim;
    victim.act(seconds(1), FaultKind::process_deaf, seconds(5));
    victim.send(seconds(2), signal);
    victim.test.run_for(seconds(3));
    EXPECT_EQ(victim.status().has_value(), signal == Signal::kill);
    victim.test.run();
    EXPECT_EQ(victim.status(), -static_cast<int>(signal));
  }
}

TEST(Signals, reach_a_process_that_is_deaf_for_good_only_where_none_can_catch_them) {
  Victim victim;
  victim.act(seconds(1), FaultKind::process_deaf);
  victim.send(seconds(2), Signal::term);
  victim.send(seconds(3), Signal::stop);
  victim.send(seconds(4), Signal::cont);
  victim.test.run();
  EXPECT_EQ(victim.status(), 0);
  EXPECT_EQ(victim.test.events.count("process.resumed"), 1U);
}

TEST(Signals, a_paused_reader_gets_what_came_while_it_was_paused_even_after_its_deadline) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  AnsweringServer server(echo);
  test.start(b, "server", serve(server));
  test.world->set_service(b, PortNumber{29500}, {seconds(3), {}, 4096, {}});
  std::string got;
  const Pid pid = test.start(a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "x");
    got = read_text(*stream, in(ports, seconds(2)));
    return 0;
  });
  test.inject_at(seconds(1), FaultKind::process_pause, [=](Fault& f) {
    f.node = a;
    f.pid = pid;
    f.duration = seconds(20);
  });
  test.run();
  EXPECT_EQ(got, "x");
}

}  // namespace
}  // namespace hooke::world
