#pragma once
// One test, two worlds: what a port promises is promised by the simulated and by the real one.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "properties/unit/sim/world/test_world.h"
#include "sim/real/real_process.h"

namespace hooke::contract {

using namespace std::chrono_literals;
using sim::Ports;
using world::in;
using world::read_text;
using world::sleep;
using world::write_text;

/// Somewhere to run a program and what that place calls things.
class Place {
 public:
  virtual ~Place() = default;
  virtual void run(const std::function<void(Ports&)>& body) = 0;
  /// A name under which a process reaches its own machine.
  [[nodiscard]] virtual std::string own_name() const = 0;
  /// A directory that is there and empty.
  [[nodiscard]] virtual std::string directory() const = 0;
  /// Programs that end with code 3; that never end; that end with code 7 at SIGTERM.
  [[nodiscard]] virtual std::vector<std::string> ends_with_3() const = 0;
  [[nodiscard]] virtual std::vector<std::string> never_ends() const = 0;
  [[nodiscard]] virtual std::vector<std::string> ends_with_7_at_term() const = 0;
};

class SimulatedPlace final : public Place {
 public:
  SimulatedPlace() {
    world_.world->register_program("three", [](Ports&) { return 3; });
    world_.world->register_program("endless", [](Ports& ports) {
      world::park_for_ever(ports);
      return 0;
    });
    world_.world->register_program("polite", [](Ports& ports) {
      static_cast<void>(ports.processes.catch_signal(sim::Signal::term));
      static_cast<void>(ports.processes.wait_signal(std::nullopt));
      return 7;
    });
  }
  void run(const std::function<void(Ports&)>& body) override {
    bool done = false;
    world_.start(world_.node("n"), "test", [&](Ports& ports) {
      body(ports);
      done = true;
      return 0;
    });
    world_.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done) << "the test did not come to its end";
  }
  [[nodiscard]] std::string own_name() const override { return "n"; }
  [[nodiscard]] std::string directory() const override { return "/contract"; }
  [[nodiscard]] std::vector<std::string> ends_with_3() const override { return {"three"}; }
  [[nodiscard]] std::vector<std::string> never_ends() const override { return {"endless"}; }
  [[nodiscard]] std::vector<std::string> ends_with_7_at_term() const override { return {"polite"}; }

 private:
  world::TestWorld world_;
};

class RealPlace final : public Place {
 public:
  RealPlace()
      : directory_(std::filesystem::temp_directory_path() /
                   ("hooke-contract-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_);
  }
  ~RealPlace() override { std::filesystem::remove_all(directory_); }
  RealPlace(const RealPlace&) = delete;
  RealPlace& operator=(const RealPlace&) = delete;
  void run(const std::function<void(Ports&)>& body) override {
    real::RealProcess process({"test"});
    process.run([&](Ports& ports) {
      body(ports);
      return 0;
    });
  }
  [[nodiscard]] std::string own_name() const override { return "localhost"; }
  [[nodiscard]] std::string directory() const override { return directory_.string(); }
  [[nodiscard]] std::vector<std::string> ends_with_3() const override { return shell("exit 3"); }
  [[nodiscard]] std::vector<std::string> never_ends() const override {
    return {"sleep", "1000000"};
  }
  [[nodiscard]] std::vector<std::string> ends_with_7_at_term() const override {
    return shell("trap 'exit 7' TERM; while :; do sleep 0.01; done");
  }

 private:
  static std::vector<std::string> shell(const std::string& script) {
    return {"/bin/sh", "-c", script};
  }
  std::filesystem::path directory_;
};

class PortContract : public testing::TestWithParam<const char*> {
 protected:
  PortContract() {
    if (std::string(GetParam()) == "simulated") {
      place = std::make_unique<SimulatedPlace>();
    } else {
      place = std::make_unique<RealPlace>();
    }
  }
  void run(const std::function<void(Ports&)>& body) { place->run(body); }

  std::unique_ptr<Place> place;
};

/// "ok", or why not.
template <class T>
std::string fault_of(const sim::Outcome<T>& outcome) {
  return outcome.ok() ? "ok" : std::string(to_string(outcome.failure().fault));
}

inline std::string world_name(const testing::TestParamInfo<const char*>& info) {
  return info.param;
}

}  // namespace hooke::contract
