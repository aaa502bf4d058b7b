// File timers at one table with PyTorch's.
#include "job.h"
#include "model/timer/file_timer.h"

namespace hooke::interop {
namespace {

using model::FileTimerClient;
using model::Variant;
using testing::HasSubstr;

class FileTimerInterop : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    python = torch_python(GetParam());
    if (python.empty()) GTEST_SKIP() << "no interpreter with this PyTorch is named";
  }
  std::string python;
};

INSTANTIATE_TEST_SUITE_P(, FileTimerInterop,
                         testing::Values(Variant::torch_1_13, Variant::torch_2_x),
                         [](const auto& variant) {
                           return variant.param == Variant::torch_2_x ? "torch_2_x" : "torch_1_13";
                         });

TEST_P(FileTimerInterop, pytorchs_client_is_watched_by_hookes_server) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    const std::string path = directory / "timers";
    Child server(ports, directory, "server",
                 {hooke_program().string(), "timer-server", "--path", path});
    ASSERT_TRUE(eventually(ports, 20s, [&] { return std::filesystem::exists(path); }));
    const std::string client = script("timer_client.py").string();
    Child in_time(ports, directory, "in-time", {python, client, path, "20", "1"});
    Child late(ports, directory, "late", {python, client, path, "2", "60"});
    EXPECT_EQ(late.end(60s), -9) << late.output();
    EXPECT_EQ(in_time.end(60s), 0) << in_time.output();
    server.signal(sim::Signal::term);
    EXPECT_EQ(server.end(20s), 0);
    EXPECT_THAT(server.output(), HasSubstr("kill worker process: pid " +
                                           std::to_string(late.pid().value) + ", scope "));
    EXPECT_FALSE(std::filesystem::exists(path));
  });
}

TEST_P(FileTimerInterop, hookes_client_is_watched_by_pytorchs_server) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    const std::string path = directory / "timers";
    Child server(ports, directory, "server", {python, script("timer_server.py").string(), path});
    ASSERT_TRUE(eventually(ports, 60s, [&] { return server.output() == "serving\n"; }))
        << server.output();
    // This test is the worker: the signal that ends others it catches.
    ASSERT_TRUE(ports.processes.catch_signal(sim::Signal::usr1).ok());
    FileTimerClient client(ports, path, GetParam(), sim::Signal::usr1);
    client.acquire("kept", ports.clock.wall_now() + 1h);
    client.acquire("released", ports.clock.wall_now() + 1s);
    client.release("released");
    EXPECT_FALSE(ports.processes.wait_signal(in(ports, 3s)));
    client.acquire("late", ports.clock.wall_now() + 1s);
    EXPECT_TRUE(ports.processes.wait_signal(in(ports, 20s)));
    // T-9: 2.x sends its own process the same signal.
    if (GetParam() == Variant::torch_2_x) {
      EXPECT_EQ(server.end(20s), -static_cast<int>(sim::Signal::usr1)) << server.output();
    } else {
      EXPECT_EQ(server.end(1s), std::nullopt) << server.output();
    }
  });
}

/// What is beyond 64 bits of nanoseconds is a time that never comes, and no malformed request.
TEST_P(FileTimerInterop, pytorchs_deadline_beyond_all_clocks_replaces_a_near_one_at_both_servers) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    const auto watched_by = [&](const std::string& name, std::vector<std::string> server,
                                const std::string& after) {
      const std::string path = directory / ("timers-" + name);
      server.push_back(path);
      Child watch(ports, directory, name, server);
      EXPECT_TRUE(eventually(ports, 60s, [&] { return std::filesystem::exists(path); }));
      Child worker(ports, directory, name + "-worker",
                   {python, script("timer_moved.py").string(), path, after});
      return worker.end(120s);
    };
    const std::vector<std::string> hooke{hooke_program().string(), "timer-server", "--path"};
    const std::vector<std::string> torch{python, script("timer_server.py").string()};
    EXPECT_EQ(watched_by("hooke", hooke, "9500000000"), 0);
    EXPECT_EQ(watched_by("torch", torch, "9500000000"), 0);
    EXPECT_EQ(watched_by("hooke-near", hooke, "3"), -9) << "the server works";
    EXPECT_EQ(watched_by("torch-near", torch, "3"), -9) << "so does PyTorch's";
  });
}

TEST(FileTimerServer, ends_half_of_a_thousand_processes_on_one_fifo) {
  run([](Ports& ports, const std::filesystem::path& directory) {
    const std::string path = directory / "timers";
    Child server(ports, directory, "server",
                 {hooke_program().string(), "timer-server", "--path", path});
    ASSERT_TRUE(eventually(ports, 20s, [&] { return std::filesystem::exists(path); }));
    // Each guards a step for 15 s; the second half ends in time.
    const std::string guard =
        R"(request() { printf '{"version": 1, "pid": %d, "scope_id": "step", "expiration_time": )"
        R"(%d, "signal": %d}\n' $$ $1 $2 > "$0"; }; request $(($(date +%s) + 15)) 9; )";
    std::vector<std::unique_ptr<Child>> workers;
    for (int i = 0; i < 1000; ++i) {
      const std::string rest = i % 2 == 0 ? "exec sleep 60" : "request -1 0; exec sleep 30";
      workers.push_back(
          std::make_unique<Child>(ports, directory, "w" + std::to_string(i),
                                  std::vector<std::string>{"/bin/sh", "-c", guard + rest, path}));
    }
    for (std::size_t i = 0; i < workers.size(); ++i) {
      ASSERT_EQ(workers[i]->end(100s), i % 2 == 0 ? -9 : 0) << i << ": " << workers[i]->output();
    }
  });
}

}  // namespace
}  // namespace hooke::interop
