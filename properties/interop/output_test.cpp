// What a person sees of a job whose workers print, fail and hang, and what monitors can ask: beside
// torchrun, point by point.
#include <fstream>
#include <regex>
#include <sstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// A line that was passed on before its end was there has its prefix a second time, as under
/// torchrun: Python writes the end of some lines of a traceback apart.
std::string as_one_piece(std::string line) {
  const std::size_t end = line.find("> ");
  if (end == std::string::npos) return line;
  const std::string prefix = line.substr(0, end + 2);
  for (auto again = line.find(prefix, 1); again != std::string::npos; again = line.find(prefix, 1))
    line.erase(again, prefix.size());
  return line;
}

/// Those that begin with `head`, sorted: workers are in no order among themselves.
std::vector<std::string> lines_with(const std::string& text, const std::string& head) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(head)) lines.push_back(as_one_piece(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// What the summary says of each failure, by rank.
struct Failure {
  std::map<std::string, std::string> fields;  ///< by label, without blanks around
  bool is_root = false;
};
std::map<std::string, Failure> failures_in(const std::string& output) {
  std::map<std::string, Failure> out;
  const std::regex label("  ([a-z_]+) *: ?(.*)");
  std::vector<std::string> lines = lines_of(output);
  bool root = false;
  std::vector<Failure> all;
  for (const std::string& line : lines) {
    root = root || line.starts_with("Root Cause");
    std::smatch found;
    if (std::regex_match(line, std::regex("\\[[0-9]+\\]:"))) {
      all.push_back({{}, root});
    } else if (!all.empty() && std::regex_match(line, found, label)) {
      all.back().fields[found[1]] = std::regex_replace(found[2].str(), std::regex(" +$"), "");
    } else if (!all.empty() && line.starts_with("  ")) {
      all.back().fields["traceback"] += "\n" + line;
    }
  }
  for (Failure& failure : all) out[failure.fields["rank"]] = failure;
  return out;
}

struct Shown {
  std::string output;
  std::string filtered;  ///< the filtered lines of the last attempt
  std::map<std::string, Failure> failures;
};

/// Two attempts of the script under that launcher.
Shown shown_by(Ports& ports, const fs::path& directory, const std::string& name,
               std::vector<std::string> launcher) {
  const fs::path logs = directory / (name + "-logs"), begun = directory / (name + "-begun");
  fs::create_directories(begun);
  for (const std::string& option :
       {std::string("--nproc-per-node=3"), std::string("--max-restarts=1"), std::string("--tee=3"),
        std::string("--role=trainer"), std::string("--duplicate-stdout-filters=told,s,, att"),
        std::string("--log-dir=") + logs.string(), script("print_fail_hang.py").string(),
        begun.string()}) {
    launcher.push_back(option);
  }
  Child agent(ports, directory, name, launcher,
              {{"PYTHON_EXEC", torch_python()},
               {"OMP_NUM_THREADS", "1"},
               {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "${role_name}/${rank}> "}});
  EXPECT_EQ(agent.end(120s), 1) << agent.output();
  Shown shown;
  shown.output = agent.output();
  for (const auto& entry : fs::recursive_directory_iterator(logs)) {
    if (entry.path().parent_path().filename() != "attempt_1") continue;
    if (entry.path().filename() != "filtered_stdout.log") continue;
    std::ifstream file(entry.path());
    shown.filtered.assign(std::istreambuf_iterator<char>(file), {});
  }
  shown.failures = failures_in(shown.output);
  return shown;
}

TEST(Output, of_workers_that_print_fail_and_hang_says_all_that_torchrun_says) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const Shown ours = shown_by(ports, directory, "hooke", {hooke_program().string(), "agent"});
    const Shown theirs =
        shown_by(ports, directory, "torchrun", {torch_python(), "-m", "torch.distributed.run"});
    // What the workers print, with its prefixes; and the filtered copies of it.
    EXPECT_EQ(lines_with(ours.output, "trainer/"), lines_with(theirs.output, "trainer/"));
    EXPECT_THAT(ours.output, HasSubstr("trainer/0> rank 0 begins, attempt 1\n"));
    EXPECT_EQ(lines_with(ours.filtered, ""), lines_with(theirs.filtered, ""));
    EXPECT_THAT(
        lines_with(ours.filtered, ""),
        ElementsAre("trainer/0> rank 0 begins, attempt 1", "trainer/1> rank 1 begins, attempt 1",
                    "trainer/2> rank 2 begins, attempt 1", "trainer/2> rank 2 was told to stop"));
    // The summary: which worker, where, how, when and why.
    for (const Shown* shown : {&ours, &theirs}) {
      EXPECT_EQ(shown->failures.size(), 3U) << shown->output;
      EXPECT_THAT(shown->output, HasSubstr("print_fail_hang.py FAILED"));
    }
    for (const auto& [rank, their] : theirs.failures) {
      ASSERT_TRUE(ours.failures.contains(rank)) << rank << "\n" << ours.output;
      const Failure& our = ours.failures.at(rank);
      EXPECT_EQ(our.is_root, their.is_root) << rank;
      for (const auto& [label, text] : their.fields) {
        ASSERT_TRUE(our.fields.contains(label)) << label;
        const std::string& own = our.fields.at(label);
        if (label == "time") {
          const std::regex time("[0-9]{4}-[0-9]{2}-[0-9]{2}_[0-9]{2}:[0-9]{2}:[0-9]{2}Z?");
          EXPECT_TRUE(std::regex_match(own, time)) << own;
          EXPECT_TRUE(std::regex_match(text, time)) << text;
        } else if (label == "error_file") {
          EXPECT_EQ(own.substr(own.rfind('/') + 1), text.substr(text.rfind('/') + 1)) << rank;
          EXPECT_EQ(own == "<N/A>", text == "<N/A>") << rank;
        } else {  // processes have other numbers
          const auto without_numbers = [](const std::string& with) {
            return std::regex_replace(
                std::regex_replace(with, std::regex("(pid: |PID )[0-9]+"), "$1some"),
                std::regex("  +\\(SIG"), " (SIG");
          };
          EXPECT_EQ(without_numbers(own), without_numbers(text)) << label << " of rank " << rank;
        }
      }
    }
    // What the agents do meanwhile: two workers are told to stop in each attempt, one fails.
    const auto times = [](const std::string& text, const char* pattern) {
      const std::regex regex(pattern);
      return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
    };
    EXPECT_EQ(times(theirs.output, "Sending process [0-9]+ closing signal SIGTERM"), 4);
    EXPECT_EQ(times(ours.output, "hooke: process [0-9]+ is sent SIGTERM: stop\n"), 4);
    EXPECT_EQ(times(theirs.output, "failed \\(exitcode: 1\\) local_rank: 1 \\(pid: [0-9]+\\)"), 2);
    EXPECT_EQ(
        times(ours.output, "worker 1 \\(local rank 1, process [0-9]+\\) ended with exit code 1\n"),
        2);
    EXPECT_EQ(times(ours.output, "ended with SIGTERM after it was told to stop\n"), 2);
    EXPECT_THAT(ours.output, HasSubstr("the workers restart (worker_failure), 0 restarts left"));
  });
}

TEST(Output, of_a_worker_asleep_in_the_kernel_calls_it_unhealthy_and_the_job_a_success) {  // A-1
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const auto output_of = [&](const std::string& name, std::vector<std::string> launcher) {
      launcher.insert(launcher.end(), {"--max-restarts=2", script("asleep.py").string()});
      Child agent(
          ports, directory, name, launcher,
          {{"PYTHON_EXEC", torch_python()}, {"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", "1.5"}});
      EXPECT_EQ(agent.end(60s), 0) << agent.output();
      EXPECT_EQ(lines_with(agent.output(), "begins").size(), 1U) << "no restart\n"
                                                                 << agent.output();
      return agent.output();
    };
    const std::string ours = output_of("hooke", {hooke_program().string(), "agent"});
    EXPECT_THAT(ours, HasSubstr("is asleep in the kernel, where no signal reaches it (state D)\n"));
    EXPECT_THAT(ours, testing::ContainsRegex("state D., for 1.[5-9] s: the group is unhealthy\n"));
    const std::string theirs =
        output_of("torchrun", {torch_python(), "-m", "torch.distributed.run"});
    EXPECT_THAT(theirs, HasSubstr("entered uninterruptible sleep"));
    EXPECT_THAT(theirs, HasSubstr("marking worker group UNHEALTHY"));
  });
}

/// Since 2.13 (pytorch/pytorch#185414) for the grace that it has, and then goes on.
TEST(Output, of_an_agent_that_is_told_to_go_comes_although_a_killed_worker_cannot_be_reaped) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const auto ends = [&](const std::string& name, std::vector<std::string> launcher) {
      launcher.insert(launcher.end(),
                      {"--shutdown-timeout=2", script("unreaped.py").string(), "40"});
      Child agent(ports, directory, name, launcher, {{"PYTHON_EXEC", torch_python()}});
      EXPECT_TRUE(eventually(ports, 60s, [&] {
        return !lines_with(agent.output(), "begins").empty();
      })) << agent.output();
      agent.signal(sim::Signal::term);
      EXPECT_EQ(agent.end(25s), 1) << name << " waits for a worker that it has killed\n"
                                   << agent.output();
      return agent.output();
    };
    const std::string theirs = ends("torchrun", {torch_python(), "-m", "torch.distributed.run"});
    EXPECT_THAT(theirs, HasSubstr("did not exit after SIGKILL within 2s; abandoning"));
    const std::string ours = ends("hooke", {hooke_program().string(), "agent"});
    EXPECT_THAT(ours, HasSubstr("is sent SIGKILL: grace is over\n"));
  });
}

// ---- what monitors ask

/// Status and body of an answer to a request on a socket file; "" when no agent answers.
std::string asked(Ports& ports, const fs::path& socket, const std::string& request) {
  auto stream = ports.network.connect_local(socket.string(), in(ports, 1s));
  if (!stream) return "";
  static_cast<void>((*stream)->write(sim::Buffer(
      request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")));
  std::string text;
  for (;;) {
    auto more = (*stream)->read(in(ports, 10s));
    if (!more || more->empty()) break;
    text += more->take_bytes(more->size());
  }
  std::smatch status;
  const std::size_t head = text.find("\r\n\r\n");
  if (!std::regex_search(text, status, std::regex("^HTTP/1.1 ([0-9]+)"))) return "no HTTP: " + text;
  return status[1].str() + " " + text.substr(head + 4);
}

TEST(ControlSocket, of_an_agent_is_taken_over_from_a_killed_one_and_goes_with_it) {
  run([](Ports& ports, const fs::path& directory) {
    const fs::path socket = directory / "control";
    const std::uint16_t health = free_port();
    const std::vector<std::string> command{hooke_program().string(),
                                           "agent",
                                           "--control-socket",
                                           socket.string(),
                                           "--no-python",
                                           "sh",
                                           "-c",
                                           "echo begins; exec sleep 20"};
    const std::map<std::string, std::string> environment{
        {"TORCHELASTIC_HEALTH_CHECK_PORT", std::to_string(health)}};
    const auto serves = [&] { return asked(ports, socket, "POST /handler/ping") == "200 pong"; };
    Child first(ports, directory, "first", command, environment);
    EXPECT_TRUE(eventually(ports, 30s, serves)) << first.output();
    EXPECT_EQ(fs::status(socket).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(eventually(ports, 30s, [&] {
      return ports.network.connect({"127.0.0.1", sim::PortNumber{health}}, in(ports, 1s)).ok();
    })) << "the health check serves as soon as workers run";
    Child beside(ports, directory, "beside", command);
    EXPECT_EQ(beside.end(30s), 2) << "it is taken";
    EXPECT_THAT(beside.output(), HasSubstr("--control-socket: cannot listen on"));
    first.signal(sim::Signal::kill);
    EXPECT_TRUE(first.end(30s).has_value());
    EXPECT_TRUE(fs::exists(socket));
    Child second(ports, directory, "second", command);
    EXPECT_TRUE(eventually(ports, 30s, serves)) << second.output();
    // Before there are workers SIGTERM ends it as any process, at once.
    EXPECT_TRUE(eventually(ports, 30s,
                           [&] { return second.output().find("begins") != std::string::npos; }));
    second.signal(sim::Signal::term);
    EXPECT_TRUE(second.end(60s).has_value());
    EXPECT_FALSE(fs::exists(socket));
  });
}

TEST(ControlSocket, answers_what_pytorchs_worker_server_answers) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const fs::path ours = directory / "ours", theirs = directory / "theirs";
    Child agent(ports, directory, "hooke",
                {hooke_program().string(), "agent", "--control-socket", ours.string(),
                 "--no-python", "sleep", "60"});
    Child server(ports, directory, "torch",
                 {torch_python(), "-c",
                  "import os, sys, time\n"
                  "os.environ['TORCH_WORKER_SERVER_SOCKET'] = sys.argv[1]\n"
                  "from torch.distributed.elastic.control_plane import worker_main\n"
                  "with worker_main(): time.sleep(60)\n",
                  theirs.string()});
    for (const fs::path& socket : {ours, theirs}) {
      EXPECT_TRUE(eventually(ports, 60s,
                             [&] { return !asked(ports, socket, "POST /handler/ping").empty(); }))
          << socket << agent.output() << server.output();
    }
    for (const char* request : {"GET /", "POST /handler/ping", "POST /handler/none",
                                "POST /handler/wait_counter_values", "GET /handler/ping"}) {
      EXPECT_EQ(asked(ports, ours, request), asked(ports, theirs, request)) << request;
    }
  });
}

}  // namespace
}  // namespace hooke::interop
