#pragma once
// A job of real agents, hooke's and PyTorch's, on this machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/variant/variant.h"
#include "sim/real/real_process.h"

namespace hooke::interop {

using namespace std::chrono_literals;
using nlohmann::json;
using sim::Ports;

/// The interpreter that has a PyTorch of this generation, from HOOKE_TORCH_PYTHON or
/// HOOKE_TORCH_1_13_PYTHON; empty when there is none.
std::string torch_python(model::Variant variant = model::Variant::torch_2_x);
/// Whether a program of this name is on the path.
bool is_installed(const std::string& program);
/// Where the scripts of this folder are.
std::filesystem::path script(const std::string& name);
/// The hooke program of this build.
std::filesystem::path hooke_program();

/// Runs `body` as a real process of the world with an empty directory of its own.
void run(const std::function<void(Ports&, const std::filesystem::path&)>& body);

inline sim::MonotonicTime in(Ports& ports, sim::Duration span) {
  return ports.clock.monotonic_now() + span;
}
/// A port on which nothing listens. Until the tests end the kernel gives it to no process that asks
/// for any port: a server that is told its number can have it.
std::uint16_t free_port();
/// Looks every 50 ms until `holds` or until `span` has passed; whether it held.
bool eventually(Ports& ports, sim::Duration span, const std::function<bool()>& holds);

/// A child that does not outlive its object. What it prints is in `log`.
class Child {
 public:
  Child(Ports& ports, const std::filesystem::path& directory, const std::string& name,
        std::vector<std::string> argv, const std::map<std::string, std::string>& environment = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] sim::Pid pid() const { return pid_; }
  void signal(sim::Signal signal);
  /// Exit code or minus the signal's number; nullopt when it still runs after `span`.
  std::optional<int> end(sim::Duration span);
  [[nodiscard]] std::string output() const;

 private:
  Ports& ports_;
  std::filesystem::path log_;
  sim::Pid pid_{};
  std::optional<int> ended_;
};

enum class Kind { hooke, torchrun };

/// Agents of one rendezvous, all on this machine.
class Job {
 public:
  /// `options`: torchrun's, common to all agents, as is `environment`. The torchrun agents and all
  /// workers have the PyTorch of `variant`.
  Job(Ports& ports, std::filesystem::path directory, model::Variant variant,
      std::vector<std::string> options, std::map<std::string, std::string> environment = {});
  ~Job();

  /// The workers' script instead of worker.py; its arguments are the kind of agent and these.
  void runs(std::string script, std::vector<std::string> arguments) {
    script_ = std::move(script);
    arguments_ = std::move(arguments);
  }
  /// hooke agents started from now on are not told which PyTorch the job has.
  void lets_hooke_find_the_variant() { tells_variant_ = false; }
  /// hooke agents started from now on are told to be of this release.
  void hookes_agents_are_of(model::Variant release) { told_ = release; }
  [[nodiscard]] const std::vector<std::string>& options() const { return options_; }
  Child& start(Kind kind, const std::string& name);
  /// Starts the agent that is to host the c10d store, and waits until it does: of agents that start
  /// at once, any may be the one that binds the port.
  Child& start_host(Kind kind, const std::string& name);
  /// What the agent of this name has printed; empty when none of it was started.
  [[nodiscard]] std::string output(const std::string& name) const;
  /// Reports of workers that are alive, by rank.
  std::map<int, json> workers();
  /// Waits until the living workers are one world of `size` ranks: each once, all with the same
  /// master.
  bool becomes_one_world(std::size_t size);
  /// What `hooke state --json` says of the job now.
  json seen_by_hooke_state();
  /// SIGKILL to the agent and its workers at once: what the loss of a machine looks like.
  void lose(Child& agent);
  /// Lets the workers of worker.py end, and expects every agent that is left to end with 0.
  void finish();

 private:
  Ports& ports_;
  std::filesystem::path directory_;
  model::Variant variant_;
  std::vector<std::string> options_;
  std::map<std::string, std::string> environment_;
  model::Variant told_;  ///< to hooke's agents, with tells_variant_
  bool tells_variant_ = true;
  std::string script_ = "worker.py";
  std::vector<std::string> arguments_;
  std::map<std::string, std::unique_ptr<Child>> agents_;
  std::vector<std::string> lost_;
  int looks_ = 0;
};

}  // namespace hooke::interop
