#pragma once
// What standard output is.

#include <sys/ioctl.h>
#include <unistd.h>

#include "reports/style.h"

namespace hooke::cli {

/// Colours and width of the terminal; neither when there is none.
inline report::Style style_of_terminal() {
  constexpr unsigned short kNarrowest = 60;
  report::Style style;
  style.colour = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  if (style.colour && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest)
    style.width = size.ws_col;
  return style;
}

}  // namespace hooke::cli
