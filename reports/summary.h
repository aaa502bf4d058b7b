#pragma once
// What a person sees after `hooke run`: one line per scenario and, for each that failed, why.

#include <string>
#include <vector>

#include "scenarios/runner.h"

namespace hooke::report {

/// One finished run together with what the scenario file says about itself.
struct Result {
  std::string file;        ///< path as given
  bool must_fail = false;  ///< a canary: success is that it fails
  scenario::RunReport run;
  /// The verdict that counts: passed, or failed when it had to.
  [[nodiscard]] bool good() const { return run.passed != must_fail; }
};

/// ANSI colours for a terminal, or nothing.
struct Style {
  bool colour = false;
  std::size_t width = 100;  ///< columns of the terminal
};

/// The head of the table, aligned with row().
std::string table_head(const Style& style, std::size_t name_width);
/// One scenario: verdict, rounds, virtual time, wall time, events, hash.
std::string row(const Result& result, const Style& style, std::size_t name_width);
/// Why a scenario failed: unmet expectations, broken invariants with their witness, the harness'
/// own failure. Also the violations that a passing scenario expected, when `expected_too`.
std::string explanation(const Result& result, const Style& style, bool expected_too);
/// "N passed, M failed".
std::string closing_line(const std::vector<Result>& results);

}  // namespace hooke::report
