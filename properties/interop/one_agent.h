#pragma once
// The same arguments given to one agent of hooke and to one torchrun.

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job.h"

namespace hooke::interop {

/// One agent, told what to do in words that both programs know.
struct OneAgent {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment{};
  /// Put before the agent's own command.
  std::vector<std::string> under{};
  /// Runs beside the agent, once it has been started.
  std::function<void(Ports&, Child&)> meanwhile{};
};

struct Seen {
  std::optional<int> end;
  std::string output;
  std::string error_file;           ///< the agent's own
  std::filesystem::path directory;  ///< the agent's own
};

/// Contents of a file; empty when there is none.
inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs what `agent` says of a directory, with each kind of agent in a directory of its own, and
/// then `body` with what is seen of both.
inline void with_both(const std::function<OneAgent(const std::filesystem::path&)>& agent,
                      const std::function<void(const Seen& hooke, const Seen& torchrun)>& body) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const std::filesystem::path& directory) {
    const auto seen = [&](const std::string& name, const std::vector<std::string>& command) {
      Seen out;
      out.directory = directory / name;
      std::filesystem::create_directories(out.directory);
      const OneAgent told = agent(out.directory);
      std::vector<std::string> argv = told.under;
      argv.insert(argv.end(), command.begin(), command.end());
      argv.insert(argv.end(), told.arguments.begin(), told.arguments.end());
      std::map<std::string, std::string> environment = told.environment;
      environment["TORCHELASTIC_ERROR_FILE"] = (out.directory / "error.json").string();
      Child child(ports, out.directory, "agent", argv, environment);
      if (told.meanwhile) told.meanwhile(ports, child);
      out.end = child.end(90s);
      out.output = child.output();
      out.error_file = contents_of(out.directory / "error.json");
      return out;
    };
    const Seen torchrun = seen("torchrun", {torch_python(), "-m", "torch.distributed.run"});
    body(seen("hooke", {hooke_program().string(), "agent"}), torchrun);
  });
}

/// Arguments of an agent that is alone and runs `program` in a shell.
inline std::vector<std::string> shell(const std::string& program,
                                      std::vector<std::string> options = {"--standalone"}) {
  for (const char* const part : {"--no-python", "sh", "-c"}) options.emplace_back(part);
  options.push_back(program);
  return options;
}

}  // namespace hooke::interop
