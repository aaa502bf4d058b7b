// What a worker is told.
#include "model/agent/worker_environment.h"

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

TEST(WorkerEnvironment, is_complete) {
  TestJob job(2);
  for (std::size_t i = 0; i < 2; ++i) {
    job[i].config.nproc_per_node = 2;
    job[i].config.max_restarts = 3;
    job[i].config.role = i == 0 ? "ps" : "trainer";
  }
  job[1].environment = {{"PATH", "/bin"}, {"RANK", "of the agent's own launcher"}};
  job.start_and_run();
  const auto last =
      std::find_if(job.environments.begin(), job.environments.end(),
                   [](const Environment& environment) { return environment.at("RANK") == "3"; });
  ASSERT_NE(last, job.environments.end());
  const std::string error_file = last->at("TORCHELASTIC_ERROR_FILE");
  EXPECT_THAT(error_file, testing::MatchesRegex("/tmp/torchelastic_[0-9]+/job_[0-9]+/.*"));
  EXPECT_TRUE(error_file.ends_with("/attempt_0/1/error.json")) << error_file;
  const Environment expected{
      {"PATH", "/bin"},
      {"LOCAL_RANK", "1"},
      {"RANK", "3"},
      {"GROUP_RANK", "1"},
      {"ROLE_RANK", "1"},
      {"ROLE_NAME", "trainer"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"WORLD_SIZE", "4"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_WORLD_SIZE", "2"},
      {"MASTER_ADDR", "a"},
      {"MASTER_PORT", "29501"},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "job"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM,SIGINT,SIGHUP,SIGQUIT"},
      {"TORCHELASTIC_ERROR_FILE", error_file},
  };
  EXPECT_EQ(*last, expected);
}

TEST(WorkerEnvironment, what_the_agent_was_given_wins_where_pytorch_only_has_a_default) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].environment = {{"OMP_NUM_THREADS", "8"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"}};
  job.start_and_run();
  EXPECT_EQ(job.variable("OMP_NUM_THREADS"), (Texts{"8", "8"}));
  EXPECT_EQ(job.variable("TORCH_NCCL_ASYNC_ERROR_HANDLING"), (Texts{"0", "0"}));
}

TEST(WorkerEnvironment, a_single_worker_keeps_its_threads) {
  TestJob job;
  job.start_and_run();
  EXPECT_EQ(job.variable("OMP_NUM_THREADS"), (Texts{"<unset>"}));
}

TEST(WorkerEnvironment, torch_1_13_uses_its_own_names) {
  TestJob job;
  job[0].config.variant = Variant::torch_1_13;
  job[0].rendezvous.agent_store = false;
  job.start_and_run();
  EXPECT_EQ(job.variable("NCCL_ASYNC_ERROR_HANDLING"), (Texts{"1"}));
  EXPECT_EQ(job.variable("TORCH_NCCL_ASYNC_ERROR_HANDLING"), (Texts{"<unset>"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_SIGNALS_TO_HANDLE"), (Texts{"<unset>"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_USE_AGENT_STORE"), (Texts{"False"}));
}

TEST(WorkerEnvironment, has_the_signals_of_the_launcher_since_2_10) {
  for (const Variant variant : {Variant::torch_2_9, Variant::torch_2_12}) {
    TestJob job;
    job[0].config.variant = variant;
    job.start_and_run();
    EXPECT_EQ(job.variable("TORCHELASTIC_SIGNALS_TO_HANDLE") == Texts{"<unset>"},
              variant == Variant::torch_2_9);
  }
}

TEST(WorkerEnvironment, torch_2_0_publishes_the_local_address_of_rank_0) {
  TestJob job;
  job[0].config.variant = Variant::torch_2_0;
  job[0].config.local_addr = "10.0.0.1";
  job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
    RendezvousInfo info = job.round_of(ports, call + 1);
    info.bootstrap.reset();
    return info;
  };
  job.start_and_run();
  EXPECT_EQ(job.variable("MASTER_ADDR"), (Texts{"10.0.0.1"}));
}

TEST(WorkerEnvironment, torch_1_13_publishes_the_name_of_rank_0_and_a_port_free_right_then) {
  TestJob job(2);
  for (std::size_t i = 0; i < 2; ++i) {
    job[i].config.variant = Variant::torch_1_13;
    job[i].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
      RendezvousInfo info = job.round_of(ports, call + 1);
      info.bootstrap.reset();
      return info;
    };
  }
  job.start_and_run();
  const std::string port = job.store(1)->text("MASTER_PORT");
  EXPECT_EQ(job.variable("MASTER_ADDR"), (Texts{"a", "a"}));
  EXPECT_EQ(job.variable("MASTER_PORT"), (Texts{port, port}));
  EXPECT_GT(std::stoi(port), 0);
}

TEST(WorkerEnvironment, torch_1_13_publishes_a_configured_address_too) {
  TestJob job;
  job[0].config.variant = Variant::torch_1_13;
  job.start_and_run();
  EXPECT_EQ(job.store(1)->text("MASTER_ADDR"), "a");
  EXPECT_EQ(job.store(1)->text("MASTER_PORT"), "29501");
  EXPECT_EQ(job.variable("MASTER_PORT"), (Texts{"29501"}));
}

TEST(WorkerEnvironment, a_virtual_local_rank_is_0_and_sees_one_device) {
  TestJob job;
  job[0].config.nproc_per_node = 3;
  job[0].config.virtual_local_rank = true;
  job[0].config.command = {"worker", "--real=${local_rank}"};
  job[0].environment = {{"CUDA_VISIBLE_DEVICES", "4, 7 ,GPU-x,9"}};
  job.start_and_run();
  EXPECT_EQ(job.variable("LOCAL_RANK"), (Texts{"0", "0", "0"}));
  EXPECT_EQ(job.variable("RANK"), (Texts{"0", "1", "2"}));
  EXPECT_EQ(job.variable("CUDA_VISIBLE_DEVICES"), (Texts{"4", "7", "GPU-x"}));
  EXPECT_EQ(job.arguments.at(2).at(1), "--real=2");
}

TEST(WorkerEnvironment, a_virtual_local_rank_without_a_device_list_is_its_own_device) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.virtual_local_rank = true;
  job.start_and_run();
  EXPECT_EQ(job.variable("CUDA_VISIBLE_DEVICES"), (Texts{"0", "1"}));
}

TEST(WorkerEnvironment, a_virtual_local_rank_beyond_the_device_list_is_refused) {
  TestJob job;
  job[0].config.nproc_per_node = 3;
  job[0].config.virtual_local_rank = true;
  job[0].environment = {{"CUDA_VISIBLE_DEVICES", "4,5"}};
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "error 1 ValueError: local rank 2 is beyond CUDA_VISIBLE_DEVICES \"4,5\"");
  EXPECT_TRUE(job.environments.empty());
}

TEST(WorkerEnvironment, macros_know_the_local_rank_and_nothing_else) {
  const std::map<std::string, std::string> expected{
      {"", ""},
      {"plain", "plain"},
      {"--rank=${local_rank}", "--rank=5"},
      {"--rank=$local_rank", "--rank=5"},
      {"$local_rank/${local_rank}", "5/5"},
      {"$local_ranks", "$local_ranks"},
      {"$local_rank_", "$local_rank_"},
      {"${local_ranks}", "${local_ranks}"},
      {"$LOCAL_RANK", "$LOCAL_RANK"},
      {"$$local_rank", "$local_rank"},
      {"$$$local_rank", "$5"},
      {"${local_rank", "${local_rank"},
      {"100$", "100$"},
      {"$rank ${other}", "$rank ${other}"},
  };
  for (const auto& [text, wanted] : expected)
    EXPECT_EQ(substitute_macros(text, {{"local_rank", "5"}}), wanted) << text;
}

}  // namespace
}  // namespace hooke::model
