// Exact decimal arithmetic: no floating point between a text and its nanoseconds.
#include "scenarios/format/duration.h"

#include <array>

namespace hooke::scenario {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array<Unit, 6> kUnits{{{"h", 3'600'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"s", 1'000'000'000},
                                      {"ms", 1'000'000},
                                      {"us", 1'000},
                                      {"ns", 1}}};
/// About 292 years: what 64-bit nanoseconds hold.
constexpr std::int64_t kMax = 9'000'000'000'000'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::optional<sim::Duration> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  std::size_t end = digits;
  if (end < text.size() && text[end] == '.') {
    ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == digits + 1) return std::nullopt;
  }
  if (digits == 0 || digits > 18) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(end) != unit.name) continue;
    std::int64_t whole = 0;
    for (const char c : text.substr(0, digits)) whole = whole * 10 + (c - '0');
    if (whole > kMax / unit.nanoseconds) return std::nullopt;
    std::int64_t total = whole * unit.nanoseconds;
    std::int64_t place = unit.nanoseconds;
    for (std::size_t i = digits + 1; i < end; ++i) {
      if (place % 10 != 0) {
        if (text[i] != '0') return std::nullopt;
        continue;
      }
      place /= 10;
      total += (text[i] - '0') * place;
    }
    return sim::Duration(negative ? -total : total);
  }
  return std::nullopt;
}

std::string duration_text(sim::Duration span) {
  const std::int64_t ns = span.count();
  if (ns == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (ns % unit.nanoseconds == 0)
      return std::to_string(ns / unit.nanoseconds) + std::string(unit.name);
  }
  return std::to_string(ns) + "ns";
}

}  // namespace hooke::scenario
