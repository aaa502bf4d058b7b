// Signals to real agents at random moments. HOOKE_SWEEP_MOMENTS of them are tried, 20 unless set
// otherwise, ten agents at a time.
#include <random>

#include "job.h"
#include "sim/real/process_tree.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

/// Fails once, then works on; every other one does not listen to SIGTERM.
constexpr const char* kWorker = R"([ "$1" = deaf ] && trap '' TERM; sleep 0.6; )"
                                R"([ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exit 3; sleep 0.6)";

TEST(SignalSweep, at_random_moments_no_agent_hangs_and_no_worker_is_left_behind) {
  const char* const given = std::getenv("HOOKE_SWEEP_MOMENTS");
  const int moments = given == nullptr ? 20 : std::max(1, std::atoi(given));
  run([&](Ports& ports, const fs::path& directory) {
    std::minstd_rand random(20261122);
    std::map<int, int> ends;
    for (int first = 0; first < moments; first += 10) {
      struct Try {
        std::unique_ptr<Child> agent;
        std::string mark;
        sim::MonotonicTime moment;
        int signals;
      };
      std::vector<Try> tries;
      for (int i = first; i < std::min(moments, first + 10); ++i) {
        const std::string name = "agent" + std::to_string(i);
        Try next;
        next.mark = "HOOKE_SWEEP=" + std::to_string(ports.processes.self().value) + "-" + name;
        next.agent = std::make_unique<Child>(
            ports, directory, name,
            std::vector<std::string>{hooke_program().string(), "agent", "--standalone",
                                     "--nproc-per-node=2", "--max-restarts=3", "--no-python",
                                     "--shutdown-timeout=1", "--log-dir=" + directory.string(),
                                     "/bin/sh", "-c", kWorker, "sh", i % 2 == 0 ? "deaf" : "heeds"},
            std::map<std::string, std::string>{
                {"HOOKE_SWEEP", next.mark.substr(next.mark.find('=') + 1)}});
        next.moment = in(ports, std::chrono::milliseconds(random() % 2500));
        next.signals = 1 + static_cast<int>(random() % 2);
        tries.push_back(std::move(next));
      }
      std::sort(tries.begin(), tries.end(),
                [](const Try& a, const Try& b) { return a.moment < b.moment; });
      for (const Try& next : tries) {
        ports.executor.sleep_until(next.moment);
        for (int i = 0; i < next.signals; ++i) next.agent->signal(sim::Signal::term);
      }
      for (const Try& next : tries) {
        const std::optional<int> end = next.agent->end(60s);
        ASSERT_TRUE(end) << "hangs: " << next.agent->output();
        // Done before the signal; stopped by it; and before the first worker, killed by it.
        EXPECT_TRUE(*end == 0 || *end == 1 || *end == -15) << *end << next.agent->output();
        ++ends[*end];
        EXPECT_TRUE(
            eventually(ports, 2s, [&] { return real::processes_marked(next.mark).empty(); }))
            << "left behind: " << next.agent->output();
      }
    }
    EXPECT_GT(ends[1], 0) << "a sweep that stops no agent proves nothing";
    std::printf("signals: %d agents had ended, %d were stopped, %d were killed before workers\n",
                ends[0], ends[1], ends[-15]);
  });
}

}  // namespace
}  // namespace hooke::interop
