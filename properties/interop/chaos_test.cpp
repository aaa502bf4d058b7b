// Random worlds played with real agents: they violate no invariant that the simulation of the same
// world does not break too, and leave nothing behind. HOOKE_CHAOS_SECONDS says for how long.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "job.h"
#include "sim/real/process_tree.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

constexpr int kAtOnce = 4;
constexpr int kSimulations = 60;

sim::Duration how_long() {
  const char* const text = std::getenv("HOOKE_CHAOS_SECONDS");
  return std::chrono::seconds(text == nullptr ? 10 : std::atoi(text));
}

/// Draws one scenario. Short time-outs, and a limit to everything.
class Draw {
 public:
  explicit Draw(Ports& ports) : random_(ports.random) {}

  json scenario(const std::string& name) {
    const auto nodes = 1 + below(4);
    const auto max_nodes = std::max<std::uint64_t>(1, nodes - below(2));
    const auto min_nodes = 1 + below(max_nodes);
    const bool groups = below(2) == 1;
    json out{{"version", 1}, {"name", name}, {"seed", 1}, {"time_limit", "60s"}};
    out["protocol"]["rendezvous"] = {
        {"min_nodes", min_nodes},
        {"max_nodes", max_nodes},
        {"timeouts", {{"join", "20s"}, {"last_call", "2s"}, {"close", "5s"}, {"heartbeat", "5s"}}},
        {"read_timeout", "10s"},
        {"keep_alive", {{"interval", "1s"}, {"max_attempts", 3}}}};
    out["protocol"]["agent"] = {{"max_restarts", below(4)}, {"shutdown_timeout", "5s"}};
    if (below(2) == 1) {
      out["protocol"]["agent"]["environment"] = {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1"}};
    }
    for (std::uint64_t i = 0; i < nodes; ++i) {
      json node{{"id", std::string(1, static_cast<char>('a' + i))}};
      if (below(4) == 0) node["start"] = span(0, 5000);
      if (below(5) == 0) node["clock"] = {{"skew", span(0, 2000)}};
      out["cluster"]["nodes"].push_back(node);
    }
    out["cluster"]["store_host"] = below(3) == 0 ? "a" : "external";
    json program = json::array();
    if (groups) {
      program = {{{"init", true}}, {{"collective", 2 + below(6)}, {"work", span(200, 1500)}}};
    } else {
      program = {{{"run", span(1000, 9000)}}};
    }
    program.push_back({{"exit", 0}});
    out["workers"] = {{"per_node", 1 + below(2)}, {"program", program}, {"peer_abort", "5s"}};
    for (std::uint64_t i = 0; i < nodes; ++i) {
      if (below(4) != 0) continue;
      const std::string worker =
          std::string(1, static_cast<char>('a' + i)) + "/0" + (below(4) == 0 ? "/*" : "");
      out["workers"]["overrides"][worker] = {{{"run", span(100, 3000)}}, {{"exit", 1 + below(5)}}};
    }
    out["timeline"] = json::array();
    for (std::uint64_t left = below(4); left > 0; --left) {
      out["timeline"].push_back(fault(nodes, groups));
    }
    out["expect"] = json::object();
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below("chaos", bound); }
  std::string span(std::uint64_t low_ms, std::uint64_t high_ms) {
    return std::to_string(low_ms + below(high_ms - low_ms + 1)) + "ms";
  }
  json fault(std::uint64_t nodes, bool groups) {
    const std::string node(1, static_cast<char>('a' + below(nodes)));
    json entry;
    if (below(2) == 0) {
      // While agents connect, a millisecond decides what a fault does: sixty simulations need not
      // meet the one that this machine takes every time.
      entry["at"] = span(1500, 8000);
    } else {
      entry["when"] = {{"event", "worker.started"}, {"node", node}};
      entry["after"] = span(0, 3000);
    }
    const std::vector<std::string> words{
        "agent.kill",  "agent.signal",  "agent.pause",   "node.crash", "node.reboot",
        "worker.exit", "worker.signal", "net.partition", "net.delay",  "net.reset"};
    const std::string word = words[below(groups ? 7 : words.size())];
    entry["do"] = word;
    if (word.starts_with("net.")) {
      entry["from"] = {node};
      entry["to"] = {"store_host"};
      if (word != "net.reset") entry["for"] = span(200, 5000);
      if (word == "net.delay") entry["by"] = span(1, 500);
    } else {
      entry["node"] = node;
      if (word == "agent.pause") entry["for"] = span(200, 5000);
      if (word == "node.reboot") entry["for"] = span(500, 4000);
    }
    return entry;
  }

  sim::Random& random_;
};

std::set<std::string> broken(const std::string& output) {
  std::set<std::string> out;
  const json report = json::parse(output, nullptr, false);
  EXPECT_TRUE(report.is_object()) << output;
  if (!report.is_object()) return out;
  for (const json& result : report["results"]) {
    EXPECT_FALSE(result.contains("harness_failure")) << result;
    EXPECT_FALSE(result.contains("unsupported")) << result;
    for (const json& violation : result["violations"]) out.insert(violation["invariant"]);
  }
  return out;
}

/// The same world on a machine on which it takes time to start a process, as on this one: agents
/// begin later by up to 0.6 s, each worker by up to 60 ms.
json with_slow_starts(json scenario, sim::Random& random) {
  const auto span = [&](std::uint64_t most_ms) {
    return std::to_string(random.below("starts", most_ms + 1)) + "ms";
  };
  const auto delay = [&](json& time, std::uint64_t most_ms) {
    const auto more = static_cast<int>(random.below("starts", most_ms + 1));
    time = std::to_string(std::stoi(time.get<std::string>()) + more) + "ms";
  };
  json& workers = scenario["workers"];
  const json own = workers.value("overrides", json::object());
  workers["overrides"] = json::object();
  const auto later = [&](const std::string& worker, json program) {
    program.insert(program.begin(), json{{"run", span(60)}});
    workers["overrides"][worker] = std::move(program);
  };
  for (const auto& [worker, program] : own.items()) later(worker, program);
  // What the harness does comes as late as that, too.
  for (json& entry : scenario["timeline"]) {
    for (const char* when : {"at", "after"}) {
      if (entry.contains(when)) delay(entry[when], 60);
    }
  }
  for (json& node : scenario["cluster"]["nodes"]) {
    if (!node.contains("start")) node["start"] = "0ms";
    delay(node["start"], 600);
    for (int rank = 0; rank < workers["per_node"]; ++rank) {
      const std::string worker = node["id"].get<std::string>() + "/" + std::to_string(rank) + "/*";
      if (!own.contains(worker)) later(worker, workers["program"]);
    }
  }
  return scenario;
}

/// Changes nothing, and keeps a simulation going.
const json kLongAfterwards{{"at", "50s"}, {"do", "net.delay"},      {"for", "1ms"},
                           {"by", "0ms"}, {"from", {"store_host"}}, {"to", {"store_host"}}};

/// Every invariant that some simulation of the file breaks: other seeds are other interleavings.
std::set<std::string> broken_in_simulation(Ports& ports, const fs::path& directory,
                                           const json& scenario) {
  std::set<std::string> out;
  const std::string file = (directory / "simulated.json").string();
  for (int seed = 1; seed <= kSimulations; ++seed) {
    json world = with_slow_starts(scenario, ports.random);
    // A cluster goes on for a while when all agents are over, and what they left behind is seen
    // there.
    if (seed % 4 == 0) world["timeline"].push_back(kLongAfterwards);
    std::ofstream(file) << world.dump(2) << '\n';
    Child child(ports, directory, "sim",
                {hooke_program().string(), "run", "--once", "--json", "--seed",
                 std::to_string(seed), "--strategy", seed % 2 == 0 ? "random" : "fifo", file});
    static_cast<void>(child.end(60s));
    out.merge(broken(child.output()));
  }
  return out;
}

TEST(Chaos, breaks_nothing_that_the_simulation_does_not_break_too) {
  run([](Ports& ports, const fs::path& directory) {
    const auto end = in(ports, how_long());
    int worlds = 0;
    int once = 0;                       // worlds with a difference that did not come again
    std::map<std::string, int> counts;  // worlds in which an invariant was violated
    const auto play_once = [&](const fs::path& place, const std::string& file) {
      Child child(ports, place, "real",
                  {hooke_program().string(), "run", "--world", "real", "--json", file},
                  {{"TMPDIR", place.string()}});
      EXPECT_TRUE(child.end(200s).has_value()) << file;
      EXPECT_TRUE(real::processes_marked("TMPDIR=" + place.string()).empty()) << file;
      return broken(child.output());
    };
    const auto play = [&] {
      Draw draw(ports);
      while (ports.clock.monotonic_now() < end) {
        const std::string name = "chaos-" + std::to_string(worlds++);
        const fs::path place = directory / name;
        fs::create_directories(place);
        const std::string file = (place / "scenario.json").string();
        const json scenario = draw.scenario(name);
        std::ofstream(file) << scenario.dump(2) << '\n';
        const std::set<std::string> really = play_once(place, file);
        for (const std::string& invariant : really) ++counts[invariant];
        std::set<std::string> only_really;
        if (!really.empty()) {
          const std::set<std::string> simulated = broken_in_simulation(ports, place, scenario);
          std::set_difference(really.begin(), really.end(), simulated.begin(), simulated.end(),
                              std::inserter(only_really, only_really.end()));
        }
        // A machine that stood still for a moment does so once.
        for (int again = 0; again < 2 && !only_really.empty(); ++again) {
          const std::set<std::string> now = play_once(place, file);
          std::erase_if(only_really,
                        [&](const auto& invariant) { return !now.contains(invariant); });
          if (only_really.empty()) ++once;
        }
        EXPECT_THAT(only_really, testing::IsEmpty())
            << "is broken in " << file << " by real agents only";
        if (only_really.empty()) fs::remove_all(place);
      }
    };
    std::vector<sim::FiberId> players;
    for (int i = 0; i < kAtOnce; ++i) players.push_back(ports.executor.spawn("player", play));
    for (const sim::FiberId player : players) ports.executor.join(player);
    std::printf("chaos: %d worlds played, %d with a difference that did not come again\n", worlds,
                once);
    for (const auto& [invariant, count] : counts) {
      std::printf("chaos: %s broken in %d\n", invariant.c_str(), count);
    }
    EXPECT_GE(worlds, kAtOnce);
  });
}

}  // namespace
}  // namespace hooke::interop
