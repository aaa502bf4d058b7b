// A secret is read from a file and never from an argument: arguments are seen by every user of the
// machine.
#include "scenarios/cli/control_doors.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "scenarios/format/json_reader.h"

namespace hooke::cli {
namespace {

/// The one line of a file that only its owner may read.
std::string read_token(const std::string& file) {
  std::string token = scenario::read_file(file);
  const std::filesystem::perms others =
      std::filesystem::perms::group_read | std::filesystem::perms::others_read;
  if (file != "-" &&
      (std::filesystem::status(file).permissions() & others) != std::filesystem::perms::none) {
    throw std::runtime_error(file + ": expected a file that only its owner may read (chmod 600)");
  }
  if (token.ends_with('\n')) token.pop_back();
  const bool one_word =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (token.empty() || !one_word) {
    throw std::runtime_error(file + ": expected one line of visible ASCII characters");
  }
  return token;
}

}  // namespace

void add_control_doors(CLI::App& command, ControlDoors& doors) {
  CLI::Option* const port =
      command
          .add_option("--control-port", doors.port,
                      "Serve /metrics (Prometheus) and PyTorch's control plane; 0: a free port")
          ->check(CLI::Range(0, 65535));
  command
      .add_option("--control-bind", doors.bind,
                  "From where: loopback (this machine alone), all. Without --control-token-file it "
                  "asks for no password")
      ->check(CLI::IsMember({"loopback", "all"}))
      ->capture_default_str();
  command
      .add_option("--control-token-file", doors.token_file,
                  "Serve only requests with \"Authorization: Bearer\" and the line in this file")
      ->type_name("FILE")
      ->needs(port);
  command
      .add_option("--control-socket", doors.socket_file,
                  "Serve the same on a socket file, for this user alone")
      ->type_name("FILE");
}

std::unique_ptr<model::ControlPlane> open_control_doors(sim::Ports& ports,
                                                        model::Observers& observers,
                                                        const report::AgentMetrics& metrics,
                                                        const ControlDoors& doors) {
  if (!doors.port && doors.socket_file.empty()) return nullptr;
  auto control = std::make_unique<model::ControlPlane>(ports);
  model::MetricBoard board;
  observers.metrics.configure(board.handler());
  control->show(board);
  control->show([&ports, &observers, &metrics] {
    const model::GroupKeeping* const group = observers.rendezvous;
    return metrics.text(ports.clock.wall_now(), group == nullptr ? std::nullopt : group->view());
  });
  const char* option = "--control-token-file";
  try {
    const std::string token = doors.token_file.empty() ? "" : read_token(doors.token_file);
    option = "--control-port";
    if (doors.port) {
      const sim::PortNumber port =
          control->serve(sim::PortNumber{*doors.port}, doors.bind == "all", token);
      std::fprintf(stderr, "hooke: control plane on port %u\n", static_cast<unsigned>(port.value));
    }
    option = "--control-socket";
    if (!doors.socket_file.empty()) control->serve(doors.socket_file);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(option) + ": " + error.what());
  }
  return control;
}

}  // namespace hooke::cli
