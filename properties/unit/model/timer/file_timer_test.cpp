// File timers in a world of their own: a server, and workers that guard what they do.
#include "model/timer/file_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/python_error.h"
#include "model/timer/kinds/timers_of_variant.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Pid;
using sim::Ports;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using world::sleep;

constexpr const char* kPath = "/timers";

class FileTimer : public testing::Test {
 protected:
  /// A server for `span` after `start`; its process is what T-9 is about.
  Pid serve(Variant variant, sim::Duration span = 1h, sim::Duration start = 0s) {
    return world_.start(node_, "server", [=, this](Ports& ports) {
      sleep(ports, start);
      FileTimerOptions options;
      options.path = kPath;
      options.run_id = "run";
      options.max_interval = 100ms;
      options.variant = variant;
      options.on_event = [this](const WatchdogEvent& event) {
        told.push_back(std::string(event.name) +
                       (event.timer == nullptr ? "" : " " + event.timer->scope_id));
      };
      const auto server = make_file_timer_server(ports, options);
      server->start();
      sleep(ports, span);
      behind = ports.clock.wall_now() - server->last_progress_time();
      server->stop();
      stopped_at = world_.now();
      return 0;
    });
  }
  /// A worker that lives for a minute after `body`.
  Pid work(const std::string& name, std::function<void(Ports&, FileTimerClient&)> body,
           Variant variant = Variant::torch_2_x,
           std::optional<sim::Signal> signal = sim::Signal::kill) {
    return world_.start(node_, name + " " + std::to_string(++workers_), [=](Ports& ports) {
      const auto client = make_file_timer_client(ports, kPath, variant, signal);
      try {
        body(ports, *client);
      } catch (const EscapedPythonError& error) {
        return std::string_view(error.class_name()) == "BrokenPipeError" ? 32 : 11;
      }
      sleep(ports, 1min);
      return 0;
    });
  }
  static sim::WallTime after(Ports& ports, sim::Duration span) {
    return ports.clock.wall_now() + span;
  }
  std::optional<int> code(Pid pid) { return world_.exit_code(node_, pid); }

  world::TestWorld world_;
  sim::NodeId node_ = world_.node("n");
  int workers_ = 0;
  std::vector<std::string> told;
  sim::Duration behind{};  ///< how long ago the watch went round when it was stopped
  sim::Duration stopped_at{};
};

TEST_F(FileTimer, ends_only_the_worker_that_let_its_deadline_pass) {
  serve(Variant::hardened);
  const Pid late = work("late", [](Ports& ports, FileTimerClient& client) {
    client.acquire("step", after(ports, 2s));
  });
  const Pid in_time = work("in time", [](Ports& ports, FileTimerClient& client) {
    client.acquire("step", after(ports, 2s));
    sleep(ports, 1s);
    client.release("step");
  });
  const Pid moved = work("moved", [](Ports& ports, FileTimerClient& client) {
    client.acquire("step", after(ports, 2s));
    sleep(ports, 1s);
    client.acquire("step", after(ports, 1000s));
  });
  world_.run_for(2min);
  EXPECT_EQ(code(late), -9);
  EXPECT_EQ(code(in_time), 0);
  EXPECT_EQ(code(moved), 0);
  EXPECT_THAT(told,
              ElementsAre("watchdog started", "timer expired step", "kill worker process step"));
}

TEST_F(FileTimer, several_scopes_of_a_worker_are_several_timers) {
  serve(Variant::hardened);
  const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
    client.acquire("outer", after(ports, 3s));
    client.acquire("inner", after(ports, 1s));
    client.release("inner");
    client.release("never armed");
  });
  world_.run_for(2min);
  EXPECT_EQ(code(worker), -9);
  EXPECT_THAT(told,
              ElementsAre("watchdog started", "timer expired outer", "kill worker process outer"));
}

TEST_F(FileTimer, a_timer_without_a_signal_only_tells) {
  serve(Variant::torch_2_x);
  const Pid worker = work(
      "worker",
      [](Ports& ports, FileTimerClient& client) { client.acquire("step", after(ports, 2s)); },
      Variant::torch_2_x, std::nullopt);
  world_.run_for(2min);
  EXPECT_EQ(code(worker), 0);
  EXPECT_THAT(told, ElementsAre("watchdog started", "timer expired step"));
}

TEST_F(FileTimer, in_2_x_the_server_signals_itself_too) {
  const Pid server = serve(Variant::torch_2_x);
  work("worker",
       [](Ports& ports, FileTimerClient& client) { client.acquire("step", after(ports, 2s)); });
  world_.run_for(2min);
  EXPECT_EQ(code(server), -9);
}

TEST_F(FileTimer, in_1_13_it_does_not_and_tells_less) {
  const Pid server = serve(Variant::torch_1_13);
  work("worker",
       [](Ports& ports, FileTimerClient& client) { client.acquire("step", after(ports, 2s)); });
  world_.run_for(2min);
  EXPECT_EQ(code(server), std::nullopt);
  EXPECT_THAT(told, ElementsAre("watchdog started", "kill worker process step"));
}

TEST_F(FileTimer, without_a_server_the_worker_is_told) {
  const Pid no_file = work("no file", [](Ports& ports, FileTimerClient& client) {
    client.acquire("step", after(ports, 2s));
  });
  world_.run_for(2min);
  EXPECT_EQ(code(no_file), 32);
}

TEST_F(FileTimer, a_server_that_comes_within_a_second_is_waited_for) {
  serve(Variant::hardened, 1h, 800ms);
  const Pid patient = work("2.x", [](Ports& ports, FileTimerClient& client) {
    client.acquire("step", after(ports, 1h));
  });
  const Pid hasty = work(
      "1.13",
      [](Ports& ports, FileTimerClient& client) { client.acquire("step", after(ports, 1h)); },
      Variant::torch_1_13);
  world_.run_for(3min);
  EXPECT_EQ(code(patient), 0);
  EXPECT_EQ(code(hasty), 32);
}

TEST_F(FileTimer, whatever_lies_at_its_path_gives_way) {
  world_.start(node_, "litter", [](Ports& ports) {
    return ports.files.write(kPath, "left by a server that is long dead") ? 0 : 1;
  });
  serve(Variant::hardened, 1h, 10ms);
  const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
    sleep(ports, 1s);
    client.acquire("step", after(ports, 2s));
  });
  world_.run_for(2min);
  EXPECT_EQ(code(worker), -9);
}

TEST_F(FileTimer, a_directory_at_its_path_is_refused_with_all_that_is_in_it) {
  std::string refusal, kept;
  world_.start(node_, "server", [&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(std::string(kPath) + "/home"));
    static_cast<void>(ports.files.write(std::string(kPath) + "/home/thesis", "ten years"));
    FileTimerOptions options;
    options.path = kPath;
    try {
      const FileTimerServer server(ports, options);
    } catch (const std::runtime_error& error) {
      refusal = error.what();
    }
    const auto thesis = ports.files.read(std::string(kPath) + "/home/thesis");
    kept = thesis ? thesis.value() : "gone";
    return 0;
  });
  world_.run_for(1s);
  EXPECT_THAT(refusal, HasSubstr("/timers: expected a FIFO or nothing"));
  EXPECT_EQ(kept, "ten years");
}

TEST_F(FileTimer, a_request_as_long_as_pipe_buf_is_whole_only_when_hardened) {
  serve(Variant::hardened);
  const std::size_t rest =
      encode_timer_request({101, "", sim::WallTime(4095204403187500us), 9}).size();
  const auto guard = [&](Variant variant) {
    return work(
        "worker",
        [=](Ports&, FileTimerClient& client) {
          client.acquire(std::string(4096 - rest, 'x'), sim::WallTime(4095204403187500us));
        },
        variant);
  };
  const Pid faithful = guard(Variant::torch_2_x), hardened = guard(Variant::hardened);
  world_.run_for(2min);
  EXPECT_EQ(code(faithful), 0);
  EXPECT_EQ(code(hardened), 11);
}

TEST_F(FileTimer, a_full_fifo_fails_a_release_and_the_hardened_client_waits) {
  // No process reads: the server's process is stopped.
  const Pid server = serve(Variant::hardened);
  const auto flood = [&](Variant variant) {
    return work(
        "worker",
        [](Ports& ports, FileTimerClient& client) {
          sleep(ports, 1s);
          for (int i = 0; i < 48; ++i) client.acquire(std::string(2000, 'x'), after(ports, 1h));
        },
        variant);
  };
  work("first",
       [](Ports& ports, FileTimerClient& client) { client.acquire("", after(ports, 1h)); });
  const Pid faithful = flood(Variant::torch_2_x), hardened = flood(Variant::hardened);
  world_.at(500ms, [&] {
    world_.inject(world::FaultKind::process_pause, [&](world::Fault& fault) {
      fault.node = node_;
      fault.pid = server;
      fault.duration = 4s;
    });
  });
  world_.run_for(3min);
  EXPECT_EQ(code(faithful), 11);
  EXPECT_EQ(code(hardened), 0);
}

TEST_F(FileTimer, a_watch_without_a_client_does_not_hold_up_the_stop) {
  serve(Variant::torch_2_x, 5s);
  world_.run_for(10s);
  EXPECT_EQ(stopped_at, 5100ms) << "one interval, then it is left behind (T-10)";
  EXPECT_EQ(behind, 0s) << "no client, no progress to be missed";
  EXPECT_THAT(told, ElementsAre("watchdog started", "watchdog stopped"));
}

/// As the thread that an exception has ended is joined at once.
TEST_F(FileTimer, a_watch_that_has_died_is_not_waited_for) {
  const Pid server = serve(Variant::torch_2_x, 5s);
  static_cast<void>(
      world_.inject_at(2s, world::FaultKind::fiber_dies, [this, server](world::Fault& fault) {
        fault.node = node_;
        fault.pid = server;
        fault.text = "watchdog";
      }));
  world_.run_for(10s);
  EXPECT_EQ(stopped_at, 5s);
}

TEST_F(FileTimer, what_comes_while_the_watch_that_waits_for_a_client_stands_still_is_read_later) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    const Pid server = serve(variant);
    const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
      sleep(ports, 1s);
      client.acquire("step", after(ports, 2s));
    });
    world_.at(world_.now() + 150ms, [&] {
      world_.inject(world::FaultKind::process_pause, [&](world::Fault& fault) {
        fault.node = node_;
        fault.pid = server;
        fault.duration = 4s;
      });
    });
    world_.run_for(2min);
    EXPECT_EQ(code(worker), -9);
  }
}

TEST_F(FileTimer, progress_stands_still_while_a_client_holds_the_file_open) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    serve(variant, 20s);
    world_.start(node_, "holder", [](Ports& ports) {
      sleep(ports, 1s);
      const auto held = ports.files.open_fifo_writer(kPath);
      sleep(ports, 50s);
      return held ? 0 : 1;
    });
    world_.run_for(60s);
    EXPECT_EQ(behind < 2s, variant == Variant::hardened);
  }
}

TEST_F(FileTimer, a_malformed_line_takes_its_neighbours_along_unless_hardened) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    const Pid server = serve(variant, 30s);
    const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
      sleep(ports, 1s);
      client.acquire("step", after(ports, 2s));
      auto fifo = ports.files.open_fifo_writer(kPath);
      static_cast<void>((*fifo)->write("{\"pid\": -1}\n"));
    });
    world_.run_for(2min);
    EXPECT_EQ(code(worker), variant == Variant::hardened ? -9 : 0);
    EXPECT_EQ(code(server), 0);
    EXPECT_THAT(world_.events.starting_with("watchdog.failed").back(), HasSubstr("/scope_id"));
  }
}

TEST_F(FileTimer, a_line_without_an_end_is_forgotten_and_the_next_one_read) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    serve(variant, 30s);
    const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
      sleep(ports, 1s);
      auto fifo = std::move(ports.files.open_fifo_writer(kPath)).value();
      for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(fifo->write(std::string(4096, 'x')).ok());
        sleep(ports, 300ms);
      }
      static_cast<void>(fifo->write("\n"));
      fifo = nullptr;
      sleep(ports, 1s);
      client.acquire("step", after(ports, 2s));
    });
    world_.run_for(2min);
    EXPECT_EQ(code(worker), -9);
  }
  // Of 256 KiB: three times what is more than 64 KiB, and the rest, which is no request.
  EXPECT_EQ(world_.events.starting_with("watchdog.failed").size(), 2U * 4U);
}

TEST_F(FileTimer, no_process_is_ended_for_a_number_that_is_no_process) {
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x, Variant::hardened}) {
    serve(variant, 30s);
    const Pid bystander = work("bystander", [](Ports& ports, FileTimerClient&) {
      sleep(ports, 1s);
      auto fifo = ports.files.open_fifo_writer(kPath);
      for (const char* pid : {"-1", "0", "-100", "99999999999"}) {
        static_cast<void>((*fifo)->write("{\"pid\": " + std::string(pid) +
                                         R"(, "scope_id": "", "expiration_time": 1, "signal": 9})" +
                                         "\n"));
      }
    });
    world_.run_for(2min);
    EXPECT_EQ(code(bystander), 0);
  }
  EXPECT_THAT(world_.events.starting_with("process.signalled"), IsEmpty());
}

TEST_F(FileTimer, a_thousand_workers_share_one_file) {
  serve(Variant::hardened);
  std::vector<Pid> workers;
  for (int i = 0; i < 1000; ++i) {
    workers.push_back(work(
        "worker " + std::to_string(i),
        [i](Ports& ports, FileTimerClient& client) {
          client.acquire("step", after(ports, 5s));
          sleep(ports, 1s);
          if (i % 2 == 0) client.release("step");
        },
        Variant::hardened));
  }
  world_.run_for(2min);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(code(workers[static_cast<std::size_t>(i)]), i % 2 == 0 ? 0 : -9) << i;
  }
}

TEST_F(FileTimer, once_round_judges_all_that_is_pending) {
  std::uint64_t requests = 0;
  const Pid server = world_.start(node_, "server", [&](Ports& ports) {
    FileTimerOptions options;
    options.path = kPath;
    options.variant = Variant::torch_1_13;
    FileTimerServer one(ports, options);
    one.run_once();
    requests = one.request_count();
    return ports.files.exists(kPath) ? 1 : 0;
  });
  const Pid worker = work("worker", [](Ports& ports, FileTimerClient& client) {
    sleep(ports, 1s);
    client.acquire("expired", after(ports, -1s));
  });
  world_.run_for(2min);
  EXPECT_EQ(requests, 1U);
  EXPECT_EQ(code(worker), -9);
  EXPECT_EQ(code(server), 0);
}

}  // namespace
}  // namespace hooke::model
