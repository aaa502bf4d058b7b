#include "scenarios/cli/workforce.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

namespace hooke::cli {
namespace {

/// What came of each task.
struct Outcome {
  std::map<std::uint64_t, std::string> done;
  std::map<std::uint64_t, std::string> crashed;
  std::uint64_t given = 0;
};

Outcome run(
    unsigned jobs, std::uint64_t count, std::function<std::string(std::uint64_t)> work,
    std::function<bool(const Outcome&)> more = [](const Outcome&) { return true; }) {
  Outcome outcome;
  Workforce workforce;
  workforce.jobs = jobs;
  workforce.work = std::move(work);
  workforce.done = [&](std::uint64_t task, const std::string& line) {
    EXPECT_TRUE(outcome.done.emplace(task, line).second) << "task " << task << " was done twice";
  };
  workforce.crashed = [&](std::uint64_t task, const std::string& how) {
    outcome.crashed[task] = how;
  };
  workforce.more = [&] { return more(outcome); };
  outcome.given = workforce.run(count);
  return outcome;
}

TEST(Workforce, DoesEveryTaskOnceInAnyNumberOfProcesses) {
  for (const unsigned jobs : {1U, 2U, 7U}) {
    const Outcome outcome =
        run(jobs, 50, [](std::uint64_t task) { return std::to_string(task * task); });
    EXPECT_EQ(outcome.given, 50U);
    EXPECT_EQ(outcome.done.size(), 50U);
    EXPECT_EQ(outcome.done.at(7), "49");
    EXPECT_TRUE(outcome.crashed.empty());
  }
}

TEST(Workforce, DoesNothingWhereThereIsNothingToDo) {
  EXPECT_EQ(run(4, 0, [](std::uint64_t) { return std::string("x"); }).given, 0U);
}

TEST(Workforce, LongLinesArriveWhole) {
  const Outcome outcome =
      run(2, 4, [](std::uint64_t task) { return std::string(1'000'000 + task, 'x'); });
  for (const auto& [task, line] : outcome.done) EXPECT_EQ(line.size(), 1'000'000 + task);
  EXPECT_EQ(outcome.done.size(), 4U);
}

TEST(Workforce, ACrashTakesItsTaskAndNoOther) {
  const Outcome outcome = run(2, 30, [](std::uint64_t task) {
    if (task == 3) raise(SIGKILL);
    if (task == 17) _exit(5);
    return std::string("fine");
  });
  EXPECT_EQ(outcome.given, 30U);
  EXPECT_EQ(outcome.done.size(), 28U);
  EXPECT_EQ(outcome.crashed.at(3), "killed by SIGKILL");
  EXPECT_EQ(outcome.crashed.at(17), "ended with exit code 5");
}

TEST(Workforce, GivesOutNoMoreWhenToldAndFinishesWhatIsOut) {
  const Outcome outcome = run(
      3, 1'000'000, [](std::uint64_t) { return std::string("fine"); },
      [](const Outcome& so_far) { return so_far.done.size() < 20; });
  EXPECT_GE(outcome.given, 20U);
  EXPECT_LT(outcome.given, 30U);
  EXPECT_EQ(outcome.done.size(), outcome.given);
  EXPECT_EQ(outcome.done.rbegin()->first, outcome.given - 1) << "the tasks from 0 on, without gaps";
}

TEST(Workforce, AProcessKeepsWhatItHasLearntForItsNextTask) {
  int tasks = 0;
  const Outcome outcome = run(1, 5, [&tasks](std::uint64_t) { return std::to_string(++tasks); });
  EXPECT_EQ(outcome.done.at(4), "5");
  EXPECT_EQ(tasks, 0) << "of the process that gave the tasks out";
}

TEST(Workforce, EndsWithTheProcessThatStartedIt) {
  int ends[2], begun[2];  // of which the workers hold the writing sides
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(pipe(begun), 0);
  const pid_t command = fork();
  if (command == 0) {
    run(2, 2, [&](std::uint64_t) {
      static_cast<void>(write(begun[1], "x", 1) == 1);
      sleep(60);
      return std::string();
    });
    _exit(0);
  }
  ASSERT_GT(command, 0);
  close(ends[1]);
  close(begun[1]);
  char byte = 0;
  for (int worker = 0; worker < 2; ++worker) ASSERT_EQ(read(begun[0], &byte, 1), 1);
  kill(command, SIGKILL);
  pollfd closed{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&closed, 1, 5000), 1) << "a worker lives on";
  waitpid(command, nullptr, 0);
}

}  // namespace
}  // namespace hooke::cli
