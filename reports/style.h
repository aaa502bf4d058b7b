#pragma once
// What the terminal can show.

#include <cstddef>
#include <string>

namespace hooke::report {

/// ANSI colours for a terminal, or nothing.
struct Style {
  bool colour = false;
  std::size_t width = 100;  ///< columns of the terminal
};

/// `text` in the colour of an ANSI code, "31;1", where there are colours.
inline std::string paint(const Style& style, const std::string& code, const std::string& text) {
  return style.colour ? "\x1b[" + code + "m" + text + "\x1b[0m" : text;
}

}  // namespace hooke::report
