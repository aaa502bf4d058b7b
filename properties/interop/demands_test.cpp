// Demands of users beyond torchrun, on real agents: properties/demands.md names these tests, and
// the scenarios that one of them plays in both worlds.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "job.h"
#include "model/etcd/embedded_server.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

/// What the workers of command_lines_worker.py have been given, one document per start.
std::vector<json> starts_seen(const fs::path& seen) {
  std::vector<json> out;
  for (const auto& entry : fs::directory_iterator(seen)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    out.push_back(json::parse(file));
  }
  return out;
}

std::map<std::string, int> starts_by_rank(const fs::path& seen) {
  std::map<std::string, int> out;
  for (const json& start : starts_seen(seen)) {
    ++out[start["environment"]["RANK"].get<std::string>()];
  }
  return out;
}

fs::path tree_of_demands() {
  return script("").parent_path().parent_path().parent_path();
}

/// The second column of the page: `folder/name.json` below the library, for both worlds.
std::set<std::string> scenarios_for_both_worlds() {
  std::ifstream page(tree_of_demands() / "properties/demands.md");
  const std::regex name("`([a-z_]+/[a-z0-9.-]+\\.json)`");
  std::set<std::string> out;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    const std::size_t first = line.find('|', 1) + 1;  // an empty cell is a blank
    const std::string cell = line.substr(first, line.find('|', first) - first);
    for (std::sregex_iterator each(cell.begin(), cell.end(), name), end; each != end; ++each) {
      out.insert((*each)[1]);
    }
  }
  return out;
}

TEST(Demands, have_scenarios_with_one_verdict_in_both_worlds) {
  const std::set<std::string> names = scenarios_for_both_worlds();
  ASSERT_GE(names.size(), 10U) << "the page has lost its table";
  run([&](Ports& ports, const fs::path& directory) {
    std::map<std::string, std::unique_ptr<Child>> runs;
    // All at once: they spend their time waiting.
    for (const std::string& name : names) {
      const fs::path own = directory / fs::path(name).stem();
      fs::create_directories(own);
      runs[name] = std::make_unique<Child>(
          ports, own, "run",
          std::vector<std::string>{hooke_program(), "run", "--worlds", "sim,real", "--json",
                                   tree_of_demands() / "scenarios/library" / name},
          std::map<std::string, std::string>{{"TMPDIR", own}});
    }
    for (const auto& [name, child] : runs) {
      EXPECT_EQ(child->end(300s), 0) << name << ":\n" << child->output();
      const json report = json::parse(child->output(), nullptr, false);
      ASSERT_TRUE(report.is_object()) << name << ":\n" << child->output();
      EXPECT_EQ(report["results"].size(), 2U) << name;
      for (const json& result : report["results"]) EXPECT_EQ(result["verdict"], "passed") << name;
    }
  });
}

TEST(Demands, a_restart_of_the_failed_worker_alone_leaves_the_others_at_work) {
  run([](Ports& ports, const fs::path& directory) {
    fs::create_directories(directory / "seen");
    Child agent(ports, directory, "agent",
                {hooke_program().string(), "agent", "--nproc-per-node=3", "--rdzv-backend=static",
                 "--master-port=" + std::to_string(free_port()), "--max-restarts=2",
                 "--restart-policy=failed-only:first=100ms", "--event-log-handler=console",
                 script("command_lines_worker.py").string(), "1:once", "pause=1"},
                {{"SEEN", directory / "seen"}, {"PYTHON_EXEC", "python3"}});
    EXPECT_EQ(agent.end(60s), 0) << agent.output();
    EXPECT_EQ(starts_by_rank(directory / "seen"),
              (std::map<std::string, int>{{"0", 1}, {"1", 2}, {"2", 1}}))
        << agent.output();
  });
}

TEST(Demands, the_state_of_a_static_job_is_one_record_with_the_ranks_of_workers) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    fs::create_directories(directory / "seen");
    const std::string port = std::to_string(free_port());
    std::map<std::string, std::unique_ptr<Child>> agents;
    const auto start = [&](const std::string& node_rank, std::vector<std::string> argv) {
      argv.insert(argv.end(),
                  {"--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=static", "--rdzv-id=job",
                   "--node-rank=" + node_rank, "--master-addr=localhost", "--master-port=" + port,
                   script("command_lines_worker.py"), "wait"});
      agents[node_rank] = std::make_unique<Child>(
          ports, directory, "agent-" + node_rank, argv,
          std::map<std::string, std::string>{{"SEEN", directory / "seen"},
                                             {"PYTHON_EXEC", torch_python()}});
    };
    int looks = 0;
    const auto look = [&] {
      Child state(ports, directory, "state-" + std::to_string(looks++),
                  {hooke_program(), "state", "--json", "--rdzv-backend=static", "--rdzv-id=job",
                   "--rdzv-endpoint=localhost:" + port});
      static_cast<void>(state.end(30s));
      return json::parse(state.output(), nullptr, false);
    };
    start("0", {torch_python(), "-m", "torch.distributed.run"});
    start("1", {hooke_program(), "agent"});
    ASSERT_TRUE(
        eventually(ports, 120s, [&] { return starts_seen(directory / "seen").size() == 4; }))
        << agents["0"]->output() << agents["1"]->output();
    const json seen = look();
    ASSERT_TRUE(seen.is_object());
    EXPECT_EQ(seen["status"], "complete") << seen;
    EXPECT_EQ(seen["world_size"], 4) << seen;
    EXPECT_EQ(seen["group_world_size"], 2) << seen;
    EXPECT_EQ(seen["master"]["port"], std::stoi(port)) << seen;
    ASSERT_EQ(seen["participants"].size(), 2U) << seen;
    EXPECT_EQ(seen["participants"][1]["workers"],
              (json{{"role", "default"}, {"first_rank", 2}, {"count", 2}}));
    for (const auto& [name, agent] : agents) agent->signal(sim::Signal::term);
    for (const auto& [name, agent] : agents) EXPECT_TRUE(agent->end(60s)) << agent->output();
  });
}

/// Two agents with two workers each; that of rank 3 fails once. The lives of workers that came to an
/// end, as rejoin.py writes them.
std::multiset<std::string> lives_of_rejoining_workers(Ports& ports, const fs::path& directory,
                                                      const std::string& backend,
                                                      std::uint16_t port) {
  std::map<std::string, std::unique_ptr<Child>> agents;
  for (const char* const name : {"a", "b"}) {
    agents[name] = std::make_unique<Child>(
        ports, directory, name,
        std::vector<std::string>{
            hooke_program(), "agent", "--nnodes=2", "--nproc-per-node=2", "--rdzv-id=job",
            "--rdzv-backend=" + backend, "--rdzv-endpoint=localhost:" + std::to_string(port),
            "--max-restarts=2", "--restart-policy=failed-only:first=100ms,rejoin=yes",
            script("rejoin.py"), directory, "6", "3"},
        std::map<std::string, std::string>{{"PYTHON_EXEC", torch_python()}});
  }
  for (const auto& [name, agent] : agents) EXPECT_EQ(agent->end(180s), 0) << agent->output();
  std::multiset<std::string> out;
  std::ifstream lives(directory / "lives");
  for (std::string line; std::getline(lives, line);) out.insert(line);
  return out;
}

/// Rank, restart count, the sum of rank + step over 4 ranks and 6 steps, number of the group.
const std::multiset<std::string> kOneLifeMore{"0 0 96 1", "1 0 96 1", "2 0 96 1", "3 1 96 1"};

TEST(Demands, a_worker_restarted_alone_rejoins_its_process_group_over_c10d) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    EXPECT_EQ(lives_of_rejoining_workers(ports, directory, "c10d", free_port()), kOneLifeMore);
  });
}

TEST(Demands, a_worker_restarted_alone_rejoins_its_process_group_over_etcd) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    EXPECT_EQ(lives_of_rejoining_workers(ports, directory, "etcd-v2", etcd.endpoint().port.value),
              kOneLifeMore);
    etcd.stop();
  });
}

TEST(Demands, a_worker_that_cannot_be_started_is_tried_three_times_and_then_reported) {
  run([](Ports& ports, const fs::path& directory) {
    const fs::path late = directory / "late.sh";
    const std::vector<std::string> begin{hooke_program(), "agent", "--standalone",
                                         "--process-launcher=patient:attempts=3,pause=2s",
                                         "--no-python"};
    std::vector<std::string> comes = begin, never = begin;
    comes.push_back(late);
    never.push_back(directory / "never.sh");
    Child patient(ports, directory, "patient", comes);
    Child in_vain(ports, directory, "in-vain", never);
    // The first attempt is over once the round is complete and a moment has passed.
    ASSERT_TRUE(eventually(ports, 60s, [&] {
      return patient.output().find("round 0: node 0 of 1") != std::string::npos;
    })) << patient.output();
    ports.executor.sleep_until(in(ports, 1s));
    std::ofstream(directory / "late.tmp") << "#!/bin/sh\necho here now\n";
    fs::permissions(directory / "late.tmp", fs::perms::owner_all);
    fs::rename(directory / "late.tmp", late);
    EXPECT_EQ(patient.end(60s), 0) << patient.output();
    EXPECT_THAT(patient.output(), testing::HasSubstr("here now"));
    EXPECT_EQ(in_vain.end(60s), 1) << in_vain.output();
    EXPECT_THAT(in_vain.output(), testing::HasSubstr("worker 0 cannot be started"));
  });
}

TEST(Demands, one_limit_for_the_group_ends_the_worker_whose_work_takes_longer) {
  run([](Ports& ports, const fs::path& directory) {
    Child agent(ports, directory, "agent",
                {hooke_program(), "agent", "--standalone", "--nproc-per-node=2", "--max-restarts=1",
                 "--timer=queue:interval=100ms,limit=8s", script("group_timer.py"), "1", "600"},
                {{"PYTHON_EXEC", "python3"}});
    EXPECT_EQ(agent.end(120s), 0) << agent.output();
    EXPECT_THAT(agent.output(), testing::HasSubstr("(local rank 1, process"));
    EXPECT_THAT(agent.output(), testing::HasSubstr("ended with SIGKILL"));
    EXPECT_THAT(agent.output(), testing::HasSubstr("rank 1 is done"));
  });
}

TEST(Demands, a_script_finds_no_local_rank_under_torchelastics_name) {
  run([](Ports& ports, const fs::path& directory) {
    fs::create_directories(directory / "seen");
    Child agent(ports, directory, "agent",
                {hooke_program(), "agent", "--standalone", "--nproc-per-node=2",
                 script("command_lines_worker.py")},
                {{"SEEN", directory / "seen"}, {"PYTHON_EXEC", "python3"}});
    EXPECT_EQ(agent.end(60s), 0) << agent.output();
    const std::vector<json> starts = starts_seen(directory / "seen");
    ASSERT_EQ(starts.size(), 2U);
    for (const json& start : starts) {
      const json& environment = start["environment"];
      for (const char* const name :
           {"LOCAL_RANK", "RANK", "GROUP_RANK", "ROLE_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE",
            "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"}) {
        EXPECT_TRUE(environment.contains(name)) << name;
        EXPECT_FALSE(environment.contains(std::string("TORCHELASTIC_") + name)) << name;
      }
    }
  });
}

}  // namespace
}  // namespace hooke::interop
