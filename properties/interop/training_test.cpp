// A real training script under hooke agents, through the loss of a worker and of a machine and a
// late joiner: its loss curve is that of an undisturbed training.
#include <csignal>
#include <fstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

struct Step {
  int number;
  double loss;
  int ranks;
};

std::vector<Step> curve(const fs::path& directory) {
  std::ifstream file(directory / "curve");
  std::vector<Step> out;
  for (Step step{}; file >> step.number >> step.loss >> step.ranks;) out.push_back(step);
  return out;
}

/// What there is to read when it does not train on.
std::string told(Job& job, const fs::path& directory) {
  std::string out;
  for (const std::string name : {"a", "b", "c"}) out += name + ":\n" + job.output(name);
  const std::vector<Step> steps = curve(directory);
  out += std::to_string(steps.size()) + " steps; ranks, as they changed:";
  int ranks = 0;
  for (const Step& step : steps) {
    if (step.ranks != ranks) {
      out += " " + std::to_string(step.ranks) + " from step " + std::to_string(step.number) + ";";
    }
    ranks = step.ranks;
  }
  return out;
}

/// Waits until `more` further steps have been made by `ranks` ranks.
bool trains_on(Ports& ports, const fs::path& directory, int ranks, std::size_t more = 20) {
  const std::size_t before = curve(directory).size();
  return eventually(ports, 120s, [&] {
    const std::vector<Step> now = curve(directory);
    const auto since = now.begin() + static_cast<std::ptrdiff_t>(std::min(before, now.size()));
    return static_cast<std::size_t>(std::count_if(
               since, now.end(), [&](const Step& step) { return step.ranks == ranks; })) >= more;
  });
}

TEST(Training,
     survives_a_worker_a_machine_and_a_late_joiner_with_the_result_of_an_undisturbed_run) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const fs::path calm = directory / "calm", stormy = directory / "stormy";
    fs::create_directories(calm);
    fs::create_directories(stormy);
    // Each round has a store of its own: in a shared one the keys of an earlier round are met
    // again.
    Job job(ports, directory, model::Variant::torch_2_x,
            {"--nnodes=1:3", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=training",
             "--rdzv-endpoint=localhost:" + std::to_string(free_port()),
             "--rdzv-conf=last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=5"},
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    job.runs("train.py", {stormy.string()});
    job.start_host(Kind::hooke, "a");  // a machine other than the store's is to be lost
    Child& b = job.start(Kind::hooke, "b");
    ASSERT_TRUE(trains_on(ports, stormy, 2)) << told(job, stormy);
    kill(job.workers().at(1)["pid"].get<int>(), SIGKILL);
    ASSERT_TRUE(trains_on(ports, stormy, 2)) << told(job, stormy);
    job.start(Kind::hooke, "c");
    ASSERT_TRUE(trains_on(ports, stormy, 3)) << told(job, stormy);
    job.lose(b);
    ASSERT_TRUE(trains_on(ports, stormy, 2)) << told(job, stormy);
    std::ofstream(stormy / "enough") << "now\n";
    job.finish();

    const std::vector<Step> disturbed = curve(stormy);
    ASSERT_FALSE(disturbed.empty());
    const int steps = disturbed.back().number + 1;
    Child alone(ports, directory, "alone",
                {torch_python(), script("train.py").string(), "alone", calm.string(),
                 std::to_string(steps)},
                {{"RANK", "0"},
                 {"WORLD_SIZE", "1"},
                 {"MASTER_ADDR", "localhost"},
                 {"MASTER_PORT", std::to_string(free_port())},
                 {"HOOKE_REPORTS", calm.string()}});
    EXPECT_EQ(alone.end(60s), 0) << alone.output();
    const std::vector<Step> undisturbed = curve(calm);
    ASSERT_EQ(undisturbed.size(), static_cast<std::size_t>(steps));
    // A step that was made but not kept is made again; none is left out.
    int next = 0;
    for (const Step& step : disturbed) {
      ASSERT_LE(step.number, next);
      ASSERT_GE(step.number, next - 1) << "more than one step was lost";
      next = step.number + 1;
      const double expected = undisturbed.at(static_cast<std::size_t>(step.number)).loss;
      EXPECT_NEAR(step.loss, expected, 1e-9 * std::max(1.0, expected)) << "step " << step.number;
    }
    EXPECT_LT(disturbed.back().loss, disturbed.front().loss / 2) << "it learns";
  });
}

}  // namespace
}  // namespace hooke::interop
