#pragma once
// --calibration of the commands that simulate: a file of `hooke calibrate`.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "scenarios/format/calibration.h"

namespace hooke::cli {

/// Declares the flag; `place` gets what the file says, or a scenario::ScenarioError names what is
/// wrong with it.
inline CLI::Option* add_calibration(CLI::App& command,
                                    std::optional<scenario::Calibration>& place) {
  const auto read = [&place](const std::string& path) {
    place = scenario::load_calibration(scenario::read_file(path), path);
  };
  return command
      .add_option_function<std::string>(
          "--calibration", read,
          "Store and network as fast as those that hooke calibrate has measured")
      ->type_name("FILE");
}

}  // namespace hooke::cli
