#pragma once
// What standard output is.

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "reports/style.h"

namespace hooke::cli {

/// Whether there are colours: as NO_COLOR or FORCE_COLOR says (no-color.org, force-color.org), else
/// on a terminal.
inline bool has_colours() {
  const auto is_set = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
  };
  if (is_set("NO_COLOR")) return false;
  return is_set("FORCE_COLOR") || isatty(STDOUT_FILENO) != 0;
}

/// Colours and width; the width is that of COLUMNS where it is a number of at least kNarrowest, else
/// the terminal's, or 100.
inline report::Style style_of_terminal() {
  constexpr unsigned short kNarrowest = 60;
  report::Style style;
  style.colour = has_colours();
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest)
    style.width = size.ws_col;
  if (const char* const columns = std::getenv("COLUMNS")) {
    char* end = nullptr;
    const long width = std::strtol(columns, &end, 10);
    if (*end == '\0' && width >= kNarrowest && width <= 10'000)
      style.width = static_cast<std::size_t>(width);
  }
  return style;
}

}  // namespace hooke::cli
