#pragma once
// Python guests in a small world. Their programs are the texts of the tests.

#include <unistd.h>

#include <filesystem>
#include <memory>

#include "properties/unit/sim/world/test_world.h"
#include "sim/guest/guest.h"

namespace hooke::guest {

/// The one zygote of the test program; null where there is no Python for it.
inline Zygote* test_zygote() {
  static const std::unique_ptr<Zygote> zygote = []() -> std::unique_ptr<Zygote> {
    ZygoteOptions options;
    options.python = "python3";
    options.modules = {{"program",
                        "def prepare():\n"
                        "    return 'ready'\n"
                        "def main(text):\n"
                        "    exec(compile(text, '<test>', 'exec'), {'__name__': 'test'})\n"}};
    try {
      return std::make_unique<Zygote>(options);
    } catch (const GuestError& error) {
      const std::string why = error.what();
      if (why.find("cannot start") == std::string::npos) throw;
      return nullptr;
    }
  }();
  return zygote.get();
}

/// Skips the test where there is no Python.
#define HOOKE_NEEDS_PYTHON() \
  if (test_zygote() == nullptr) GTEST_SKIP() << "Python is not available here"

class Watcher final : public Services {
 public:
  Message request(const std::string& name, const Message&) override {
    throw GuestError("unknown request " + name);
  }
  void note(const std::string& name, const Message&) override { said.push_back(name); }
  void on_line(std::string_view line) override { said.emplace_back(line); }
  void on_spawned(sim::Pid child, const sim::SpawnRequest& request) override {
    said.push_back("spawned " + std::to_string(child.value) + " " + request.argv.front());
  }
  void on_signalled(sim::Pid target, sim::Signal signal, bool group) override {
    said.push_back("signalled " + std::to_string(target.value) + " " +
                   std::string(to_string(signal)) + (group ? " group" : ""));
  }
  void on_reaped(sim::Pid child, int status) override {
    said.push_back("reaped " + std::to_string(child.value) + " " + std::to_string(status));
  }
  void on_signal(sim::Signal signal) override {
    said.push_back("signal " + std::string(to_string(signal)));
  }
  std::vector<std::string> said;
};

/// A world whose machine "a" runs one guest; "child" is a program that sleeps for 5 s and ends with
/// 7.
struct GuestWorld {
  explicit GuestWorld(const std::string& program,
                      std::chrono::milliseconds silence = std::chrono::seconds(30)) {
    std::string name = (std::filesystem::temp_directory_path() / "guest-XXXXXX").string();
    directory = mkdtemp(name.data());
    node = test.node("a");
    test.world->register_program("child", [](sim::Ports& ports) {
      ports.executor.sleep_until(ports.clock.monotonic_now() + std::chrono::seconds(5));
      return 7;
    });
    pid = test.start(node, "guest", [this, program, silence](sim::Ports& ports) {
      GuestOptions options;
      options.config = program;
      options.directory = directory;
      options.silence_max = silence;
      return run_guest(ports, *test_zygote(), watcher, options);
    });
  }
  ~GuestWorld() { std::filesystem::remove_all(directory); }
  GuestWorld(const GuestWorld&) = delete;
  GuestWorld& operator=(const GuestWorld&) = delete;

  /// Runs to the end; its lines.
  const std::vector<std::string>& lines() {
    test.run();
    return watcher.said;
  }
  /// Runs; the failure of the harness.
  std::string failure() {
    return test.kernel.run() == kernel::RunEnd::failed ? test.kernel.failure() : "no failure";
  }
  [[nodiscard]] std::optional<int> code() { return test.exit_code(node, pid); }

  Watcher watcher;
  world::TestWorld test;
  std::string directory;
  sim::NodeId node{};
  sim::Pid pid{};
};

}  // namespace hooke::guest
