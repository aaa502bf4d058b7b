// The directory of each attempt: what workers leave in it, and what removes it.
#include <gmock/gmock.h>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

// ---- directories of attempts

/// Workers note what they find next to their error file, and leave something there.
std::function<int(Ports&)> leaves_traces(Texts& found, std::function<int(Ports&)> then) {
  return [&found, then = std::move(then)](Ports& ports) {
    const std::string file = ports.processes.environment().at("TORCHELASTIC_ERROR_FILE");
    const std::string mine = file.substr(0, file.rfind('/')) + "/notes";
    found.push_back(ports.files.exists(mine) ? "old notes" : "nothing");
    static_cast<void>(ports.files.write(mine, "x"));
    return then(ports);
  };
}

TEST(AttemptDirectory, a_membership_restart_removes_what_the_same_attempt_had_left) {
  TestJob job;
  Texts found;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.joins == 1 ? 1 : 0; };
  job.worker = leaves_traces(found, exits(1s, 0));
  job.start_and_run();
  EXPECT_EQ(found, (Texts{"nothing", "nothing"}));
  const Texts files = job.variable("TORCHELASTIC_ERROR_FILE");
  EXPECT_EQ(files.at(0), files.at(1));
}

TEST(AttemptDirectory, a_hardened_agent_keeps_what_the_same_attempt_had_left) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.logs.directory = "/logs";
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.joins == 1 ? 1 : 0; };
  job.worker = exits(1s, 0);
  job.start_and_run();
  const Texts files = job.variable("TORCHELASTIC_ERROR_FILE");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_THAT(files[0], testing::MatchesRegex("/logs/job_[0-9]+/attempt_0/0/error.json"));
  EXPECT_THAT(files[1], testing::MatchesRegex("/logs/job_[0-9]+/attempt_0.1/0/error.json"));
}

/// The agent's own directory, from the path of an error file in it.
std::string directory_of(const std::string& error_file) {
  return error_file.substr(0, error_file.find("/attempt_"));
}

TEST(AttemptDirectory, each_attempt_has_its_own) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job[0].config.logs.directory = "/logs";
  job.worker = exits(1s, 1);
  job.start_and_run();
  const Texts files = job.variable("TORCHELASTIC_ERROR_FILE");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_THAT(files[0], testing::MatchesRegex("/logs/job_[0-9]+/attempt_0/0/error.json"));
  EXPECT_EQ(files[1], directory_of(files[0]) + "/attempt_1/0/error.json");
}

TEST(AttemptDirectory, an_agent_started_anew_takes_another_one_than_its_predecessor) {
  TestJob job;
  job.worker = exits(1s, 1);
  job.at(60s, [&] { job.start_agent(0); });
  job.start_and_run();
  const Texts files = job.variable("TORCHELASTIC_ERROR_FILE");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_THAT(files,
              testing::Each(testing::MatchesRegex("/tmp/torchelastic_[0-9]+/job_[0-9]+/.*")));
  EXPECT_NE(directory_of(files[0]), directory_of(files[1]));
}

TEST(AttemptDirectory, one_that_cannot_be_made_ends_the_agent) {
  TestJob job;
  job[0].config.logs.directory = "/logs/here";
  job.world->register_program(
      "spoiler", [](Ports& ports) { return ports.files.write("/logs", "a file") ? 0 : 1; });
  job.start_again(job[0].node, "spoiler");
  job.at(1s, [&] { job.start(); });
  job.run();
  EXPECT_EQ(job.ending().substr(0, 16), "error 1 OSError:");
  EXPECT_TRUE(job.environments.empty());
}

/// How often the agent of a machine whose disk has been full from the start has joined, and closed
/// the rendezvous.
Texts with_a_full_disk(Variant variant) {
  TestJob job;
  job[0].config.variant = variant;
  job.world->on_fault_point([&](sim::NodeId node, sim::Pid, std::string_view name, std::uint64_t) {
    if (name != "agent.started") return;
    job.inject(world::FaultKind::disk_full, [&](world::Fault& fault) { fault.node = node; });
  });
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 16), "error 1 OSError:") << to_string(variant);
  EXPECT_TRUE(job.environments.empty());
  return {std::to_string(job[0].rendezvous.joins), std::to_string(job[0].rendezvous.shutdowns)};
}

TEST(AttemptDirectory, one_that_cannot_be_made_ends_the_agent_before_it_has_met_the_others) {
  EXPECT_EQ(with_a_full_disk(Variant::torch_2_x), (Texts{"0", "0"}));
  EXPECT_EQ(with_a_full_disk(Variant::torch_1_13), (Texts{"0", "0"}));
  EXPECT_EQ(with_a_full_disk(Variant::hardened).at(0), "1");
}

TEST(AttemptDirectory, an_error_file_that_is_not_there_is_not_waited_for) {
  TestJob job;
  job[0].config.max_restarts = 0;
  job.worker = exits(2s, 3);
  job.inject_at(1s, world::FaultKind::disk_stall,
                [&](world::Fault& fault) { fault.node = job[0].node; });
  job.start_and_run();
  EXPECT_EQ(job.texts("failure.reported", "status"), (Texts{"3"}));
}

TEST(AttemptDirectory, has_the_filtered_copies_of_all_workers) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.logs.directory = "/logs";
  job[0].config.logs.tee = StdMap::parse("1");
  job[0].config.logs.stdout_filters = {"loss"};
  job[0].config.logs.stderr_filters = {"never"};
  job[0].config.logs.line_prefix = "${role_name}/${rank}$$ ";
  std::string out, err = "<none>";
  job.worker = [&](Ports& ports) {
    const std::string file = ports.processes.environment().at("TORCHELASTIC_ERROR_FILE");
    const std::string own = file.substr(0, file.rfind('/'));
    static_cast<void>(ports.files.append(own + "/stdout.log", "a loss\nno gain\n"));
    world::sleep(ports, 5s);
    const std::string attempt = own.substr(0, own.rfind('/'));
    out = ports.files.read(attempt + "/filtered_stdout.log").value();
    err = ports.files.read(attempt + "/filtered_stderr.log").value();
    return 0;
  };
  job.start_and_run();
  EXPECT_THAT(out, testing::AnyOf("default/0$ a loss\ndefault/1$ a loss\n",
                                  "default/1$ a loss\ndefault/0$ a loss\n"));
  EXPECT_EQ(err, "") << "there, and empty";
}

TEST(AttemptDirectory, none_is_made_when_no_file_is_to_be_kept) {
  TestJob job;
  job[0].config.logs.directory = "/dev/null";
  job[0].config.logs.tee = StdMap::parse("3");
  job.worker = [](Ports& ports) {
    EXPECT_FALSE(ports.files.exists("/dev/null"));
    return 3;
  };
  job.start_and_run();
  EXPECT_EQ(job.variable("TORCHELASTIC_ERROR_FILE"), (Texts{""}));
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
}

TEST(AttemptDirectory, filters_have_no_file_to_go_to_where_none_is_kept) {
  TestJob job;
  job[0].config.logs.directory = "/dev/null";
  job[0].config.logs.stdout_filters = {"x"};
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 16), "error 1 OSError:");
  EXPECT_TRUE(job.environments.empty());
}

}  // namespace
}  // namespace hooke::model
