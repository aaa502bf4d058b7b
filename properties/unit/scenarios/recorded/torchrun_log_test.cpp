// Lines as PyTorch 2.13 writes them.
#include "scenarios/recorded/torchrun_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Logged> read(const std::vector<std::string>& lines) {
  TorchrunLog log;
  std::vector<Logged> out;
  for (const std::string& line : lines) {
    if (const auto said = log.read(line)) out.push_back(said->what);
  }
  return out;
}

/// A line of the rendezvous.
std::string rendezvous(const std::string& words) {
  return "V1122 11:49:27.773000 20148 torch/distributed/elastic/rendezvous/"
         "dynamic_rendezvous.py:842] The node '127.0.1.1_20148_0' " +
         words;
}
const std::string kMarked = rendezvous("marked the rendezvous 'job' as closed. Pending sync.");
const std::string kSynced = rendezvous(
    "has successfully synced its local changes with other nodes in the rendezvous 'job'.");
const std::string kStale = rendezvous(
    "has a stale state and failed to sync its local changes with other nodes in the rendezvous "
    "'job'.");
const std::string kClosed = rendezvous("has closed the rendezvous 'job'.");

TEST(TorchrunLog, tells_of_failed_workers_and_of_the_exit_barrier) {
  EXPECT_THAT(
      read({"E1122 11:48:55.879000 7 torch/distributed/elastic/multiprocessing/api.py:1015] failed "
            "(exitcode: 3) local_rank: 0 (pid: 9) of binary: hooke",
            "I1122 11:48:55.880000 7 torch/distributed/elastic/agent/server/api.py:985] Local "
            "worker group finished (WorkerState.SUCCEEDED). Waiting 300 seconds for other agents "
            "to finish",
            "I1122 11:48:56.880000 7 torch/distributed/elastic/agent/server/api.py:1000] Done "
            "waiting for other agents. Elapsed: 1.0 seconds"}),
      ElementsAre(Logged::worker_failed, Logged::exit_barrier_entered, Logged::exit_barrier_left));
  EXPECT_THAT(read({"E1122 11:53:56.880000 7 torch/distributed/elastic/agent/server/api.py:1008] "
                    "Error waiting on exit barrier. Elapsed: 300.1 seconds"}),
              ElementsAre(Logged::exit_barrier_left));
}

TEST(TorchrunLog, the_rendezvous_is_closed_by_the_agent_that_wrote_it_first) {
  EXPECT_THAT(read({kMarked, kSynced, kClosed}), ElementsAre(Logged::closed));
  // Somebody else was faster, or had closed it before.
  EXPECT_THAT(read({kMarked, kStale, kClosed}), IsEmpty());
  EXPECT_THAT(read({kClosed}), IsEmpty());
  // A write that was not accepted is made again.
  EXPECT_THAT(read({kMarked, kStale, kMarked, kSynced, kClosed}), ElementsAre(Logged::closed));
  EXPECT_THAT(read({kSynced, kMarked}), IsEmpty());
}

/// Two agents' logs are read one after the other: b enters the exit barrier between the two looks,
/// and what a does next is read before it.
TEST(TorchrunLog, a_line_was_written_when_it_says) {
  TorchrunLog log;
  const auto line = log.read(
      "I1122 11:48:55.879000 7 torch/distributed/elastic/agent/server/api.py:985] Local worker "
      "group finished (WorkerState.SUCCEEDED). Waiting 300 seconds for other agents to finish");
  ASSERT_TRUE(line);
  const sim::Duration said = 11h + 48min + 55s + 879ms;
  EXPECT_EQ(line->time_of_day, said);
  const sim::WorldTime now(500s);
  const sim::Duration day = 24h * 20000;
  EXPECT_EQ(written_at(*line, now, sim::WallTime(day + said + 250ms)), now - 250ms);
  // The clock was set since: the line seems to come later, or from long ago.
  EXPECT_EQ(written_at(*line, now, sim::WallTime(day + said - 1ms)), now);
  EXPECT_EQ(written_at(*line, now, sim::WallTime(day + said + 2h)), now);
  // Over midnight.
  EXPECT_EQ(written_at({Logged::closed, 24h - 1ms}, now, sim::WallTime(day + 2ms)), now - 3ms);
}

TEST(TorchrunLog, a_line_without_a_time_is_written_when_it_is_read) {
  TorchrunLog log;
  for (const char* begin : {"", "I1122 ", "I1122 11:48:5", "I1122 11:48:55.87900x 7 "}) {
    const auto line = log.read(std::string(begin) + "api.py:1000] Done waiting for other agents.");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->time_of_day, std::nullopt) << begin;
    EXPECT_EQ(written_at(*line, sim::WorldTime(5s), sim::WallTime(24h)), sim::WorldTime(5s));
  }
}

TEST(TorchrunLog, other_lines_tell_nothing) {
  EXPECT_THAT(read({"", "failed (exitcode: 1)", "Traceback (most recent call last):",
                    rendezvous("marked round 0 of the rendezvous 'job' as complete. Pending "
                               "sync."),
                    kSynced}),
              IsEmpty());
}

}  // namespace
}  // namespace hooke::scenario
