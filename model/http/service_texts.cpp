#include "model/http/service_texts.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

namespace http = boost::beast::http;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Resolves %XX, and "+" where that stands for a blank. What is no escape stays as it is.
std::string unescaped(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  // Most texts are states of a rendezvous in Base64, whose pluses are escaped.
  const bool has_plus = text.find('+') != std::string_view::npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t special = has_plus ? text.find_first_of("%+", i) : text.find('%', i);
    out.append(text.substr(i, special - i));
    i = std::min(special, text.size());
    if (i == text.size()) break;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high << 4U | *low);
        i += 2;
        continue;
      }
    }
    out += text[i] == '+' && plus_is_blank ? ' ' : text[i];
  }
  HOOKE_CHECK(out.size() <= text.size(), "an escape is no shorter than what it stands for");
  return out;
}

void append_decimal(std::string& out, std::size_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

}  // namespace

void add_target(std::string_view target, HttpQuery& out) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  out.path = unescaped(target.substr(0, mark), false);
  add_parameters(target.substr(std::min(target.size(), mark + 1)), out);
}

void add_parameters(std::string_view text, HttpQuery& out) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    out.parameters.emplace(unescaped(pair.substr(0, equals), true),
                           unescaped(pair.substr(std::min(pair.size(), equals + 1)), true));
  }
}

std::string head_of(int status, const HttpHeaders& headers, std::string_view last) {
  HOOKE_CHECK(status >= 100 && status < 600, "an answer has a status of HTTP");
  constexpr std::string_view kType = "Content-Type";
  constexpr std::size_t kBytesMostly = 300;
  std::string out;
  out.reserve(kBytesMostly);
  const auto add = [&out](std::string_view text) -> auto& {
    return out.append(text);
  };
  add("HTTP/1.1 ");
  append_decimal(out, static_cast<std::size_t>(status));
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  add(" ").append(reason.data(), reason.size()).append("\r\n", 2);
  // In the order of the names.
  bool has_type = headers.contains(std::string(kType));
  const auto add_type = [&] {
    if (std::exchange(has_type, true)) return;
    add("Content-Type: application/json\r\n");
  };
  for (const auto& [name, value] : headers) {
    if (name > kType) add_type();
    add(name).append(": ", 2).append(value).append("\r\n", 2);
  }
  add_type();
  add(last);
  return out;
}

std::string head_of(int status, const HttpHeaders& headers, std::size_t body_bytes) {
  std::string out = head_of(status, headers, "Content-Length: ");
  append_decimal(out, body_bytes);
  return out.append("\r\n\r\n", 4);
}

std::string chunk_line(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  HOOKE_CHECK(bytes > 0, "a piece that ends no body has bytes");
  std::string size;
  for (std::size_t left = bytes; left > 0; left >>= 4U) {
    size.insert(size.begin(), kDigits[left & 15U]);
  }
  return size + "\r\n";
}

std::string chunk_of(const std::string& piece) {
  return piece.empty() ? "" : chunk_line(piece.size()) + piece + "\r\n";
}

}  // namespace hooke::model
