// Underscores and signs are Python's own; std::from_chars reads what is left.
#include "model/observe/python_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace hooke::model {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Without underscores, of which each is between two digits; nullopt where one is not.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

/// What from_chars makes of the whole text behind an optional sign.
template <class Number, class Is>
std::optional<Number> number(std::string_view text, Is may_begin) {
  const std::optional<std::string> plain = without_underscores(without_blanks(text));
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  const std::size_t first = rest.starts_with('-') && rest.size() == plain->size() ? 1 : 0;
  if (first >= rest.size() || !may_begin(rest[first])) return std::nullopt;
  Number out{};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
  if (end != rest.data() + rest.size()) return std::nullopt;
  if (error == std::errc()) return out;
  return error == std::errc::result_out_of_range && std::numeric_limits<Number>::has_infinity
             ? std::optional<Number>(static_cast<Number>(std::strtod(plain->c_str(), nullptr)))
             : std::nullopt;
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\v\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::int64_t> python_int(std::string_view text) {
  return number<std::int64_t>(text, is_digit);
}

std::optional<double> python_float(std::string_view text) {
  if (text.find('(') != std::string_view::npos) return std::nullopt;  // "nan(1)" is C's alone
  return number<double>(
      text, [](char c) { return is_digit(c) || std::string_view(".nNiI").find(c) < 5; });
}

}  // namespace hooke::model
