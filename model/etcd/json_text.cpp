// Runs of plain characters are found eight at a time and copied at once. What is rare is left to
// the library, so that there is one judge of what JSON is.
#include "model/etcd/json_text.h"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 32;

/// Neither the end of a text nor an escape nor beyond ASCII.
constexpr bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20U && byte < 0x80U && c != '"' && c != '\\';
}

/// Whether all eight characters are plain.
bool all_plain(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  // Subtracting sets a high bit where a byte is below what is subtracted; those that have one
  // already are not plain, either.
  const auto zero_in = [](std::uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
  const std::uint64_t found = word | (word - kOnes * 0x20U) | zero_in(word ^ (kOnes * '"')) |
                              zero_in(word ^ (kOnes * '\\'));
  return (found & kHighs) == 0;
}

/// How many plain characters `text` begins with.
std::size_t plain_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at + 8 <= text.size() && all_plain(text.data() + at)) at += 8;
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

/// Reads one document; every function is false where the library has to be asked.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool document(json& out) {
    skip_blanks();
    if (left_.empty() || (left_.front() != '{' && left_.front() != '[')) return false;
    if (!value(out, 0)) return false;
    skip_blanks();
    return left_.empty();
  }

 private:
  void skip_blanks() {
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\n' ||
                              left_.front() == '\t' || left_.front() == '\r')) {
      left_.remove_prefix(1);
    }
  }
  bool take(char c) {
    skip_blanks();
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view wanted) {
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(wanted.size());
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): no deeper than kDepthMax
  bool value(json& out, int depth) {
    HOOKE_CHECK(depth <= kDepthMax, "nesting is bounded");
    skip_blanks();
    if (left_.empty() || depth == kDepthMax) return false;
    switch (left_.front()) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"': {
        std::string read;
        if (!text(read)) return false;
        out = std::move(read);
        return true;
      }
      case 't': out = true; return word("true");
      case 'f': out = false; return word("false");
      case 'n': out = nullptr; return word("null");
      default: return number(out);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool object(json& out, int depth) {
    json::object_t members;
    left_.remove_prefix(1);
    if (!take('}')) {
      do {
        std::string name;
        skip_blanks();
        if (left_.empty() || left_.front() != '"' || !text(name) || !take(':')) return false;
        if (!value(members[std::move(name)], depth + 1)) return false;
      } while (take(','));
      if (!take('}')) return false;
    }
    out = std::move(members);
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool array(json& out, int depth) {
    json::array_t items;
    left_.remove_prefix(1);
    if (!take(']')) {
      do {
        if (!value(items.emplace_back(), depth + 1)) return false;
      } while (take(','));
      if (!take(']')) return false;
    }
    out = std::move(items);
    return true;
  }

  bool text(std::string& out) {
    left_.remove_prefix(1);
    for (;;) {
      const std::size_t plain = plain_prefix(left_);
      out.append(left_.data(), plain);
      left_.remove_prefix(plain);
      if (left_.empty()) return false;
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\' || left_.empty()) return false;
      const std::size_t which = std::string_view("\"\\/bfnrt").find(left_.front());
      if (which == std::string_view::npos) return false;
      out += "\"\\/\b\f\n\r\t"[which];
      left_.remove_prefix(1);
    }
  }

  /// Whole numbers of at most 18 digits, without a zero in front.
  bool number(json& out) {
    const bool negative = left_.front() == '-';
    std::size_t digits = negative ? 1 : 0;
    std::int64_t read = 0;
    const std::size_t first = digits;
    while (digits < left_.size() && left_[digits] >= '0' && left_[digits] <= '9') {
      if (digits - first == 18) return false;
      read = read * 10 + (left_[digits++] - '0');
    }
    if (digits == first) return false;
    if (left_[first] == '0' && (negative || digits - first > 1)) return false;
    left_.remove_prefix(digits);
    if (!left_.empty() && std::string_view(".eE").find(left_.front()) != std::string_view::npos) {
      return false;
    }
    if (negative) {
      out = -read;
    } else {
      out = static_cast<std::uint64_t>(read);
    }
    return true;
  }

  std::string_view left_;
};

/// False where a value is met that the library has to write.
template <class Json>
bool append(std::string& out, const Json& value) {  // NOLINT(misc-no-recursion): as deep as built
  switch (value.type()) {
    case Json::value_t::object: {
      char separator = '{';
      for (const auto& [name, member] : value.template get_ref<const typename Json::object_t&>()) {
        out += std::exchange(separator, ',');
        append_json_text(out, name);
        out += ':';
        if (!append(out, member)) return false;
      }
      out += separator == '{' ? "{}" : "}";
      return true;
    }
    case Json::value_t::array: {
      char separator = '[';
      for (const Json& item : value) {
        out += std::exchange(separator, ',');
        if (!append(out, item)) return false;
      }
      out += separator == '[' ? "[]" : "]";
      return true;
    }
    case Json::value_t::string:
      append_json_text(out, value.template get_ref<const std::string&>());
      return true;
    case Json::value_t::boolean: out += value.template get<bool>() ? "true" : "false"; return true;
    case Json::value_t::number_integer:
      append_json_number(out, value.template get<std::int64_t>());
      return true;
    case Json::value_t::number_unsigned:
      append_json_number(out, value.template get<std::uint64_t>());
      return true;
    case Json::value_t::null: out += "null"; return true;
    default: return false;
  }
}

template <class Json>
std::string text_of(const Json& document) {
  std::string out;
  if (append(out, document)) return out;
  return document.dump();
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

}  // namespace

std::optional<json> plain_json(std::string_view text) {
  json out;
  if (!Reader(text).document(out)) return std::nullopt;
  return out;
}

json json_or_discarded(const std::string& text) {
  if (auto plain = plain_json(text)) return std::move(*plain);
  return json::parse(text, nullptr, false);
}

std::string json_text(const json& document) {
  return text_of(document);
}

std::string json_text(const nlohmann::ordered_json& document) {
  return text_of(document);
}

void append_json_text(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  out += '"';
  for (std::string_view left = text;;) {
    const std::size_t plain = plain_prefix(left);
    out.append(left.data(), plain);
    left.remove_prefix(plain);
    if (left.empty()) break;
    const std::size_t which = std::string_view("\"\\\b\f\n\r\t").find(left.front());
    if (which == std::string_view::npos) {  // not ASCII, or a character that cannot be seen
      out.resize(before);
      out += json(std::string(text)).dump();
      return;
    }
    out += '\\';
    out += "\"\\bfnrt"[which];
    left.remove_prefix(1);
  }
  out += '"';
}

void append_json_number(std::string& out, std::int64_t number) {
  append_number(out, number);
}

void append_json_number(std::string& out, std::uint64_t number) {
  append_number(out, number);
}

}  // namespace hooke::model
