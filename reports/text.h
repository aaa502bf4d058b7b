#pragma once
// How numbers look to a person, the same in every report.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/port/time.h"

namespace hooke::report {

/// "1m02.500s", "12.345s", "350us": three significant places where they matter.
std::string short_time(std::chrono::nanoseconds span);
/// Seconds with three decimals, "12.345": for columns that are compared by eye.
std::string seconds(sim::Duration span);
/// "12,345,678".
std::string grouped(std::uint64_t number);
/// "1.5 MiB".
std::string bytes_text(std::uint64_t bytes);
/// `text` cut to `width` columns with an ellipsis; counts UTF-8 code points as one column each.
std::string fit(const std::string& text, std::size_t width);
/// `text` filled up with blanks to `width` columns.
std::string pad(const std::string& text, std::size_t width);
/// Breaks `text`, which is to stand behind `indent`, at blanks so that no line is wider than `width`
/// with it; later lines start with it.
std::string wrap(const std::string& text, std::size_t width, const std::string& indent);
/// "1 world", "2,000 worlds".
std::string counted(std::uint64_t count, const std::string& what);
/// "a, b, c".
std::string joined(const std::vector<std::string>& words, const char* between = ", ");
/// `word` as a shell takes it for one word, in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace hooke::report
