#pragma once
// --real-time-limit of the commands that run single scenarios. A slow machine must not change a
// verdict: what this limit cuts is inconclusive.

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "scenarios/format/duration.h"
#include "scenarios/simulated/runner.h"

namespace hooke::cli {

/// The limit that `text` says. CLI::ValidationError when it says none.
inline std::chrono::milliseconds real_time_from(const std::string& text) {
  using std::chrono::milliseconds;
  const auto span = scenario::parse_duration(text);
  if (!span || *span < milliseconds(1) || *span > std::chrono::hours(24)) {
    throw CLI::ValidationError(
        "--real-time-limit",
        "expected a duration with a unit from 1ms to 24h, got \"" + text + "\"");
  }
  return std::chrono::duration_cast<milliseconds>(*span);
}

/// `set` gets the limit when the flag is given. `more` ends the help text.
template <class Set>
void add_real_time_limit(CLI::App& command, Set set, const std::string& more = "") {
  const auto read = [set](const std::string& text) { set(real_time_from(text)); };
  command
      .add_option_function<std::string>(
          "--real-time-limit", read,
          "Cut a run after so much real time; it is inconclusive unless something was broken "
          "before" +
              more)
      ->type_name("DURATION")
      ->default_str(std::to_string(scenario::kRealTimeLimit / std::chrono::seconds(1)) + "s");
}

}  // namespace hooke::cli
