// Formatting of spans, counts and columns.
#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace hooke::report {
namespace {

std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) ++count;
  }
  return count;
}

}  // namespace

std::string short_time(std::chrono::nanoseconds span) {
  const std::int64_t ns = span.count();
  if (ns < 0) return "-" + short_time(-span);
  if (ns < 1'000) return fmt::format("{}ns", ns);
  if (ns < 1'000'000) return fmt::format("{}us", ns / 1'000);
  if (ns < 1'000'000'000) return fmt::format("{}.{}ms", ns / 1'000'000, ns / 100'000 % 10);
  const std::int64_t ms = ns / 1'000'000;
  if (ms < 60'000) return fmt::format("{}.{:03}s", ms / 1'000, ms % 1'000);
  if (ms < 3'600'000)
    return fmt::format("{}m{:02}.{}s", ms / 60'000, ms / 1'000 % 60, ms / 100 % 10);
  return fmt::format("{}h{:02}m{:02}s", ms / 3'600'000, ms / 60'000 % 60, ms / 1'000 % 60);
}

std::string seconds(sim::Duration span) {
  const std::int64_t ms = span.count() / 1'000'000;
  return fmt::format("{}.{:03}", ms / 1'000, ms % 1'000);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::uint64_t tenths = bytes * 10;
  std::size_t unit = 0;
  while (tenths >= 10'240 && unit + 1 < kUnits.size()) {
    tenths /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits[unit]);
}

std::string fit(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  std::string out;
  std::size_t count = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    if (starts && ++count >= width) break;
    out += c;
  }
  return out + "…";
}

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t have = columns(text);
  return have >= width ? text : text + std::string(width - have, ' ');
}

std::string wrap(const std::string& text, std::size_t width, const std::string& indent) {
  std::string out;
  std::size_t column = columns(indent);
  bool is_first = true;
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(begin, end - begin);
    if (!is_first && column + 1 + columns(word) > width) {
      out += "\n" + indent;
      column = columns(indent);
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns(word);
    is_first = false;
    begin = end + 1;
  }
  return out;
}

std::string counted(std::uint64_t count, const std::string& what) {
  return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./+:=,@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace hooke::report
