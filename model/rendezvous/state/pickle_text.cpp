// Small decoders, each a single pass.
#include "model/rendezvous/state/pickle_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

void append_utf8(std::string& out, std::uint32_t point) {
  HOOKE_CHECK(point <= 0x10ffff, "a character is one of Unicode's");
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += {static_cast<char>(0xc0U | point >> 6U), static_cast<char>(0x80U | (point & 63U))};
  } else if (point < 0x10000) {
    out += {static_cast<char>(0xe0U | point >> 12U), static_cast<char>(0x80U | (point >> 6U & 63U)),
            static_cast<char>(0x80U | (point & 63U))};
  } else {
    out +=
        {static_cast<char>(0xf0U | point >> 18U), static_cast<char>(0x80U | (point >> 12U & 63U)),
         static_cast<char>(0x80U | (point >> 6U & 63U)), static_cast<char>(0x80U | (point & 63U))};
  }
}

/// The number in exactly `digits` hexadecimal digits at `from`.
std::optional<std::uint32_t> hex_number(std::string_view text, std::size_t from,
                                        std::size_t digits) {
  HOOKE_CHECK(digits <= 8, "a number has at most 32 bits");
  if (text.size() < from + digits) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text.data() + from + digits;
  const auto result = std::from_chars(text.data() + from, end, value, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

bool is_ascii(std::string_view text) {
  unsigned all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

bool is_pickle_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  for (std::size_t i = 0; i < text.size();) {
    const unsigned lead = byte_at(text, i);
    const std::size_t size = lead < 0x80 ? 1 : lead >> 5U == 6 ? 2 : lead >> 4U == 14 ? 3 : 4;
    if (size == 4 && lead >> 3U != 30) return false;
    if (size > text.size() - i) return false;
    std::uint32_t point = size == 1 ? lead : lead & (0x7fU >> size);
    for (std::size_t k = 1; k < size; ++k) {
      const unsigned next = byte_at(text, i + k);
      if (next >> 6U != 2) return false;
      point = point << 6U | (next & 63U);
    }
    static constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[size] || point > 0x10ffff) return false;
    i += size;
  }
  return true;
}

std::optional<std::string> from_raw_unicode_escape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape && (text[i + 1] == 'u' || text[i + 1] == 'U')) {
      const std::size_t digits = text[i + 1] == 'u' ? 4 : 8;
      const auto point = hex_number(text, i + 2, digits);
      if (!point || *point > 0x10ffff) return std::nullopt;
      append_utf8(out, *point);
      i += 1 + digits;
      continue;
    }
    append_utf8(out, byte_at(text, i));
    // A backslash before anything else stands for itself, and so does what follows it.
    if (escape) append_utf8(out, byte_at(text, ++i));
  }
  return out;
}

bool is_quoted(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back()) return false;
  return text.front() == '\'' || text.front() == '"';
}

std::optional<std::string> from_quoted(std::string_view text) {
  if (!is_quoted(text)) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  static constexpr std::string_view kEscapes = "\\'\"nrt";
  static constexpr std::string_view kMeanings = "\\'\"\n\r\t";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == 'x') {
      const auto value = hex_number(text, i + 1, 2);
      if (!value) return std::nullopt;
      out += static_cast<char>(*value);
      i += 2;
    } else if (const std::size_t at = kEscapes.find(text[i]); at != std::string_view::npos) {
      out += kMeanings[at];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::string> latin1_from_utf8(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned lead = byte_at(text, i);
    if (lead < 0x80) {
      out += text[i];
    } else if (lead >> 2U == 0x30 && i + 1 < text.size()) {
      out += static_cast<char>((lead & 3U) << 6U | (byte_at(text, ++i) & 63U));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::size_t> shared_text_number(std::string_view utf8) {
  if (utf8.empty()) return kSharedTexts - 1;
  if (utf8.size() > 2) return std::nullopt;
  const auto bytes = latin1_from_utf8(utf8);
  if (!bytes || bytes->size() != 1) return std::nullopt;
  return byte_at(*bytes, 0);
}

}  // namespace hooke::model
