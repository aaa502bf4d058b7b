#pragma once
// Spans of time on the command line, as decimal seconds.

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "sim/port/time.h"

namespace hooke::cli {

/// Refuses what is no number of seconds from `least` to a day, "nan" included.
inline CLI::Validator seconds_from(double least) {
  const auto refusal = [least](const std::string& text) -> std::string {
    double value = NAN;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= 86'400) return "";
    return text + " is not a number of seconds from " + CLI::detail::to_string(least) + " to 86400";
  };
  return {refusal, "SECONDS"};
}

inline sim::Duration span_of(double seconds) {
  return std::chrono::duration_cast<sim::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace hooke::cli
