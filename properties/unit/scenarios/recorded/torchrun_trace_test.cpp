// Logs of real torchrun agents (PyTorch 2.13, c10d, two agents on one machine), judged: a clean job,
// one whose second agent was killed with its worker, and one of whose workers failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_run.h"
#include "scenarios/recorded/torchrun_line.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string recorded(const std::string& name) {
  return std::string(std::getenv("HOOKE_SOURCE_DIR")) + "/properties/unit/scenarios/recorded/" +
         name;
}

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

/// A file of this test that is gone after it.
class LogFile {
 public:
  LogFile(const std::string& name, const std::string& text)
      : path_(testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
              name) {
    std::ofstream(path_) << text;
  }
  ~LogFile() { std::remove(path_.c_str()); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct JudgedLogs {
  RunReport report;
  std::vector<std::string> assumptions, violated, not_judged;
};

JudgedLogs judged_logs(const std::vector<std::string>& paths) {
  const auto invariants = properties::InvariantRegistry::with_builtins();
  const auto events = open_recording(paths);
  JudgedLogs out{
      judge_recording(*events, invariants, {}, std::nullopt), events->assumptions(), {}, {}};
  for (const auto& violation : out.report.violations) {
    if (!testing::Matches(Contains(violation.invariant))(out.violated)) {
      out.violated.push_back(violation.invariant);
    }
  }
  for (const NotJudged& each : not_judged(events->evidence(), invariants)) {
    out.not_judged.insert(out.not_judged.end(), each.invariants.begin(), each.invariants.end());
  }
  return out;
}

std::vector<std::string> logs(const std::string& job) {
  return {recorded(job + "/node-0.log"), recorded(job + "/node-1.log")};
}

std::string refusal(const std::vector<std::string>& paths) {
  try {
    judged_logs(paths);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(TorchrunTrace, of_a_clean_job_breaks_nothing) {
  const JudgedLogs job = judged_logs(logs("torchrun_clean"));
  EXPECT_THAT(job.violated, IsEmpty());
  ASSERT_EQ(job.report.jobs.size(), 1U);
  EXPECT_EQ(job.report.jobs[0].run_id, "train");
  EXPECT_EQ(job.report.jobs[0].outcome, "succeeded");
  EXPECT_EQ(job.report.rounds, 1);
  EXPECT_GT(job.report.accounts.at("safety.rank_sanity").judged(), 0);
  EXPECT_GT(job.report.accounts.at("liveness.formation").judged(), 0);
}

TEST(TorchrunTrace, says_what_it_cannot_judge) {
  const JudgedLogs job = judged_logs(logs("torchrun_clean"));
  EXPECT_THAT(job.not_judged, Contains("safety.round_isolation"));
  EXPECT_THAT(job.not_judged, Not(Contains("safety.close_authority")));
  EXPECT_FALSE(job.report.accounts.contains("safety.round_isolation"));
}

TEST(TorchrunTrace, without_detail_does_not_say_which_node_closed) {
  const auto terse = [](const std::string& path) {
    std::istringstream in(contents(path));
    std::string out;
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("V")) out += line + "\n";
    }
    return out;
  };
  const LogFile one("0", terse(logs("torchrun_clean")[0])),
      two("1", terse(logs("torchrun_clean")[1]));
  const JudgedLogs job = judged_logs({one.path(), two.path()});
  EXPECT_THAT(job.violated, IsEmpty());
  EXPECT_EQ(job.report.rounds, 1);
  EXPECT_THAT(job.not_judged, Contains("safety.close_authority"));
}

/// PyTorch's agents drop a dead member from the state and go on without it (pytorch#111646).
TEST(TorchrunTrace, of_a_killed_agent_shows_that_the_others_go_on) {
  const JudgedLogs job = judged_logs(logs("torchrun_killed"));
  EXPECT_THAT(job.violated, ElementsAre("liveness.loss_detection"));
  EXPECT_THAT(job.assumptions, Contains(HasSubstr("another agent gave it up as dead")));
}

/// Its machine has taken the log of the second agent with it: a record of the store shows when it died.
TEST(TorchrunTrace, with_a_record_of_the_store_shows_a_member_without_a_log) {
  const JudgedLogs job =
      judged_logs({recorded("torchrun_lost/node-0.log"), recorded("torchrun_lost/job.record")});
  EXPECT_THAT(job.violated, ElementsAre("liveness.loss_detection"));
  EXPECT_EQ(job.report.agents.size(), 2U);
  EXPECT_THAT(job.not_judged, Contains("safety.restart_budget"));
  const JudgedLogs alone = judged_logs({recorded("torchrun_lost/job.record")});
  EXPECT_THAT(alone.violated, ElementsAre("liveness.loss_detection"));
}

TEST(TorchrunTrace, of_a_failed_worker_has_its_restart) {
  const JudgedLogs job = judged_logs(logs("torchrun_failed"));
  EXPECT_EQ(job.report.rounds, 2);
  EXPECT_EQ(job.report.jobs.at(0).outcome, "succeeded");
  EXPECT_GT(job.report.accounts.at("safety.restart_budget").judged(), 0);
}

TEST(TorchrunTrace, of_two_agents_in_one_file_is_refused) {
  const LogFile both("", contents(logs("torchrun_clean")[0]) + contents(logs("torchrun_clean")[1]));
  EXPECT_THAT(refusal({both.path()}), HasSubstr(": line 63: expected the log of one agent"));
}

/// Lines may be lost: whatever comes first, the agent begins before it.
TEST(TorchrunTrace, of_which_lines_are_lost_begins_all_the_same) {
  const std::string whole = contents(logs("torchrun_clean")[0]);
  const std::size_t lost = whole.find('\n', whole.find("duplicate_stderr_filters")) + 1;
  for (const char* const rest : {"] worker group successfully finished", "' has joined round 0"}) {
    const std::size_t from = whole.rfind('\n', whole.find(rest)) + 1;
    ASSERT_GT(from, lost) << rest;
    const LogFile cut("", whole.substr(0, lost) + whole.substr(from));
    EXPECT_THAT(judged_logs({cut.path()}).assumptions, Not(IsEmpty())) << rest;
  }
}

/// A clean job up to where its workers end, and after that lines of `words` of the agent `number`,
/// every five seconds.
std::string goes_on(std::size_t number, const std::vector<std::string>& words) {
  const std::string pid = number == 0 ? "25267" : "25354";
  std::string text = contents(logs("torchrun_clean")[number]);
  text.erase(text.rfind('\n', text.find("] worker group successfully finished")) + 1);
  for (int second = 20; second < 60; second += 5) {
    for (const std::string& each : words) {
      text +=
          "V1128 09:26:" + std::to_string(second) + ".000000 " + pid +
          " torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1] The node 'localhost_" +
          pid + "_0' " + each + "\n";
    }
  }
  return text;
}

/// In a rendezvous no timer sends heartbeats: an agent renews its place there by itself.
TEST(TorchrunTrace, of_an_agent_that_waits_in_a_rendezvous_shows_that_it_lives) {
  const std::string synced =
      "has successfully synced its local changes with other nodes in the rendezvous 'train'.";
  const LogFile other("other",
                      goes_on(1, {"has sent a keep-alive heartbeat to the rendezvous 'train'."}));
  const auto assumptions = [&](const std::vector<std::string>& words) {
    const LogFile log("waits", goes_on(0, words));
    return judged_logs({log.path(), other.path()}).assumptions;
  };
  const auto killed = Contains(HasSubstr("it is taken to have been killed then"));
  EXPECT_THAT(
      assumptions(
          {"updated its keep-alive heartbeat time for the rendezvous 'train'. Pending sync.",
           synced}),
      Not(killed));
  EXPECT_THAT(assumptions({synced}), killed);
}

TEST(TorchrunTrace, of_anything_else_is_refused) {
  const LogFile other("", "Epoch 1: loss 0.3\n");
  EXPECT_THAT(refusal({other.path()}), HasSubstr(": line 1: expected a trace of hooke"));
}

/// `text` as srun --label or kubectl logs --prefix gives it.
std::string labelled(const std::string& label, const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += label + line + "\n";
  return out;
}

TEST(TorchrunTrace, may_have_the_label_of_its_task_before_every_line) {
  const std::string first = "torchrun_killed/node-0.log", second = "torchrun_killed/node-1.log";
  const JudgedLogs plain = judged_logs({recorded(first), recorded(second)});
  const LogFile a(".0", "srun: job 7 queued\n" + labelled("0: ", contents(recorded(first))));
  const LogFile b(".1", labelled("[pod/job-1/main] ", contents(recorded(second))));
  const JudgedLogs judged = judged_logs({a.path(), b.path()});
  EXPECT_EQ(judged.report.events, plain.report.events);
  EXPECT_EQ(judged.violated, plain.violated);
}

TEST(TorchrunTrace, of_two_tasks_in_one_file_is_refused) {
  const LogFile both(".log", labelled("0: ", contents(recorded("torchrun_killed/node-0.log"))) +
                                 labelled("1: ", contents(recorded("torchrun_killed/node-1.log"))));
  EXPECT_THAT(
      refusal({both.path()}),
      AllOf(HasSubstr("expected the log of one agent, whose lines begin with \"0: \", got a "
                      "line of \"1: \""),
            HasSubstr("give each agent a file of its own")));
}

TEST(TorchrunTrace, keeps_what_a_worker_prints_that_looks_like_a_label) {
  const std::string own = contents(recorded("torchrun_killed/node-0.log"));
  const std::string line =
      own.substr(own.find("I1"), own.find('\n', own.find("I1")) - own.find("I1"));
  const LogFile a(".0", own + "7: " + line + "\n");
  EXPECT_EQ(judged_logs({a.path()}).report.events,
            judged_logs({recorded("torchrun_killed/node-0.log")}).report.events);
}

TEST(TorchrunLine, has_time_process_source_and_words) {
  const auto line = split_torchrun_line(
      "I1128 09:26:12.375000 25357 torch/distributed/elastic/agent/server/api.py:715] [default] "
      "go");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->pid.value, 25357);
  EXPECT_EQ(line->source, "torch/distributed/elastic/agent/server/api.py");
  EXPECT_EQ(line->words, "[default] go");
  EXPECT_EQ(line->at.time_since_epoch() % 24h, 9h + 26min + 12s + 375ms);
}

/// torchrun shortens a path by the first folder of sys.path that holds it, and that is the working
/// directory's where the virtual environment is inside it.
TEST(TorchrunLine, has_the_source_of_pytorch_wherever_it_is_installed) {
  for (const std::string before :
       {"", ".build/pytorch/lib/python3.11/site-packages/", "/home/torch/distributed/src/"}) {
    const std::string text =
        "I1128 09:26:12.375000 25357 " + before + "torch/distributed/launcher/api.py:254] go";
    const auto line = split_torchrun_line(text);
    ASSERT_TRUE(line) << text;
    EXPECT_EQ(line->source, "torch/distributed/launcher/api.py") << text;
  }
  const std::string other = "I1128 09:26:12.375000 25357 my_torch/distributed/api.py:254] go";
  EXPECT_EQ(split_torchrun_line(other)->source, "my_torch/distributed/api.py");
}

TEST(TorchrunLine, of_another_form_is_none) {
  for (const char* const text :
       {"", "I", "Epoch 1", "I1328 09:26:12.375000 1 a.py:1] x", "I1128 09:26:12.375000 1 a.py",
        "I1128 09:26:12.375000 0 a.py:1] x", "X1128 09:26:12.375000 1 a.py:1] x"}) {
    EXPECT_FALSE(split_torchrun_line(text)) << text;
  }
}

}  // namespace
}  // namespace hooke::scenario
