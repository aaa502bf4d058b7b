// hooke agents and torchrun agents in one job.
#include "job.h"

namespace hooke::interop {
namespace {

using model::Variant;

class MixedJob : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (torch_python(GetParam()).empty()) {
      GTEST_SKIP() << "no interpreter with this PyTorch is named";
    }
  }
};

std::string variant_name(const testing::TestParamInfo<Variant>& variant) {
  if (variant.param == Variant::hardened) return "hardened";
  return variant.param == Variant::torch_2_x ? "torch_2_x" : "torch_1_13";
}

INSTANTIATE_TEST_SUITE_P(, MixedJob,
                         testing::Values(Variant::torch_1_13, Variant::torch_2_x,
                                         Variant::hardened),
                         variant_name);

/// With underscores: 1.13 has no other spelling.
std::vector<std::string> options(const std::string& nnodes) {
  return {"--nnodes=" + nnodes, "--max_restarts=20", "--rdzv_backend=c10d",
          "--rdzv_endpoint=localhost:" + std::to_string(free_port()), "--rdzv_id=mixed",
          "--monitor_interval=0.1",
          // Short enough for a test, long enough for a loaded machine.
          "--rdzv_conf=last_call_timeout=6,keep_alive_interval=2,keep_alive_max_attempt=5"};
}

/// Every rank of a complete round once, and a master; heartbeats not older than a few intervals.
void expect_complete(const json& seen, std::size_t members) {
  EXPECT_EQ(seen["status"], "complete") << seen;
  ASSERT_EQ(seen["participants"].size(), members) << seen;
  for (std::size_t rank = 0; rank < members; ++rank) {
    const json& node = seen["participants"][rank];
    EXPECT_EQ(node["rank"], rank) << seen;
    EXPECT_GT(node["pid"], 0) << seen;
    EXPECT_EQ(node["workers"]["first_rank"], rank) << seen;
    EXPECT_LT(node["heartbeat_age_s"], 15) << seen;
  }
  EXPECT_GT(seen["master"]["port"], 0) << seen;
}

/// Somebody is not heard of any more, or the round is being made anew.
bool shows_a_loss(const json& seen) {
  if (seen["status"] != "complete") return true;
  return std::any_of(seen["participants"].begin(), seen["participants"].end(),
                     [](const json& node) {
                       return node["heartbeat_age_s"].is_number() && node["heartbeat_age_s"] > 4;
                     });
}

void four_agents_are_one_world(Variant variant, Kind host) {
  run([&](Ports& ports, const std::filesystem::path& directory) {
    Job job(ports, directory, variant, options("4"));
    const Kind other = host == Kind::hooke ? Kind::torchrun : Kind::hooke;
    // It would not find that it is to be hardened.
    if (host == Kind::torchrun && variant != Variant::hardened) job.lets_hooke_find_the_variant();
    job.start_host(host, "a");
    job.start(other, "b");
    job.start(host, "c");
    job.start(other, "d");
    EXPECT_TRUE(job.becomes_one_world(4));
    expect_complete(job.seen_by_hooke_state(), 4);
    job.finish();
  });
}

TEST_P(MixedJob, is_one_world_with_the_store_hosted_by_torchrun) {
  four_agents_are_one_world(GetParam(), Kind::torchrun);
}

TEST_P(MixedJob, is_one_world_with_the_store_hosted_by_hooke) {
  four_agents_are_one_world(GetParam(), Kind::hooke);
}

TEST_P(MixedJob, turns_an_agent_of_the_other_generation_away_unharmed_and_with_the_reason) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    Job job(ports, directory, GetParam(), options("1:2"));
    Child& a = job.start(Kind::hooke, "a");
    ASSERT_TRUE(job.becomes_one_world(1)) << a.output();
    const bool old = GetParam() == Variant::torch_1_13;
    std::vector<std::string> argv{
        hooke_program().string(), "agent",
        "--protocol-variant=" +
            std::string(to_string(old ? Variant::torch_2_x : Variant::torch_1_13))};
    const std::vector<std::string> same = job.options();
    argv.insert(argv.end(), same.begin(), same.end());
    argv.insert(argv.end(), {"--no_python", "/bin/true"});
    Child stranger(ports, directory, "stranger", argv);
    EXPECT_EQ(stranger.end(60s), 1);
    EXPECT_THAT(stranger.output(), testing::HasSubstr(old ? "PyTorch 1.13's" : "PyTorch 2.x'"));
    EXPECT_THAT(stranger.output(), testing::HasSubstr("--protocol-variant"));
    EXPECT_TRUE(job.becomes_one_world(1)) << a.output();
    job.finish();
  });
}

TEST_P(MixedJob, re_forms_when_a_machine_of_either_kind_is_lost) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    // Each round's rank 0 worker hosts the store of that round. In a store shared by all rounds the
    // keys of an earlier round meet the workers of a later one that counts as many restarts.
    Job job(ports, directory, GetParam(), options("2:4"),
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    Child& a = job.start_host(Kind::hooke, "a");
    Child& b = job.start(Kind::torchrun, "b");
    Child& c = job.start(Kind::hooke, "c");
    job.start(Kind::torchrun, "d");
    ASSERT_TRUE(job.becomes_one_world(4)) << a.output();
    const json before = job.seen_by_hooke_state();
    expect_complete(before, 4);
    job.lose(b);
    EXPECT_TRUE(eventually(ports, 60s, [&] { return shows_a_loss(job.seen_by_hooke_state()); }));
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output();
    const json after = job.seen_by_hooke_state();
    expect_complete(after, 3);
    EXPECT_GT(after["round"], before["round"]);
    job.lose(c);
    ASSERT_TRUE(job.becomes_one_world(2)) << a.output();
    job.finish();
  });
}

/// In the middle of an upgrade, say. What hooke's agents of a release do is read off its package.
TEST(MixedReleases, that_share_a_job_are_one_world_beside_torchrun_and_form_anew_after_a_loss) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const std::filesystem::path& directory) {
    Job job(ports, directory, Variant::torch_2_x, options("3:4"),
            {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}});
    Child& a = job.start_host(Kind::torchrun, "2.13");
    std::map<Variant, Child*> agents;
    for (const Variant release : {Variant::torch_2_6, Variant::torch_2_9, Variant::torch_2_12}) {
      ASSERT_TRUE(share_a_job(release, Variant::torch_2_x));
      job.hookes_agents_are_of(release);
      agents[release] = &job.start(Kind::hooke, std::string(to_string(release)));
    }
    ASSERT_TRUE(job.becomes_one_world(4)) << a.output();
    expect_complete(job.seen_by_hooke_state(), 4);
    job.lose(*agents[Variant::torch_2_9]);
    ASSERT_TRUE(job.becomes_one_world(3)) << a.output();
    expect_complete(job.seen_by_hooke_state(), 3);
    job.finish();
  });
}

}  // namespace
}  // namespace hooke::interop
