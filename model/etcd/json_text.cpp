// RapidJSON reads what is plain. What is rare is left to nlohmann_json, so that there is one judge of
// what JSON is.
#include "model/etcd/json_text.h"

// Sixteen characters of a text at a time, on processors that all have that.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

/// Makes values of what RapidJSON reads. A member that comes twice has its last value, as in
/// json::parse; false, which ends the reading, where that library has to be asked.
class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  bool Default() { return false; }
  bool Null() { return add(nullptr); }
  bool Bool(bool value) { return add(value); }
  bool Int(int value) { return add(value); }
  bool Int64(std::int64_t value) { return add(value); }
  bool Uint(unsigned value) { return add(std::uint64_t{value}); }
  bool Uint64(std::uint64_t value) { return add(value); }
  bool Double(double) { return false; }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return add(std::string(text, size));
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    name_.assign(text, size);
    return true;
  }
  bool StartObject() { return open(json::object()); }
  bool StartArray() { return open(json::array()); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  json take() {
    HOOKE_CHECK(open_.empty(), "a document that was read is complete");
    return std::move(root_);
  }

 private:
  json& place(json value) {
    if (open_.empty()) return root_ = std::move(value);
    json& parent = *open_.back();
    if (parent.is_array()) return parent.get_ref<json::array_t&>().emplace_back(std::move(value));
    return parent.get_ref<json::object_t&>()[name_] = std::move(value);
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json empty) {
    open_.push_back(&place(std::move(empty)));
    return true;
  }
  bool close() {
    HOOKE_CHECK(!open_.empty(), "what is closed was open");
    open_.pop_back();
    return true;
  }

  json root_;
  /// Objects and arrays that are not complete. A container grows only while it is the last of them.
  std::vector<json*> open_;
  std::string name_;
};

/// Neither the end of a text nor an escape nor beyond ASCII.
constexpr bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20U && byte < 0x80U && c != '"' && c != '\\';
}

/// Eight characters; false as well where they are plain behind one that is not.
bool are_plain(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighest = kOnes << 7U;
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof(word));
  // The highest bit of a byte that is not plain: of what borrows when something is subtracted from
  // each byte, and of what is beyond ASCII.
  const auto below = [word](std::uint64_t differ, std::uint64_t bound) {
    return (word ^ kOnes * differ) - kOnes * bound;
  };
  return ((word | below(0, 0x20) | below('"', 1) | below('\\', 1)) & kHighest) == 0;
}

/// How many plain characters `text` begins with.
std::size_t plain_prefix(std::string_view text) {
  std::size_t size = 0;
  while (size + 8 <= text.size() && are_plain(text.data() + size)) size += 8;
  while (size < text.size() && is_plain(text[size])) ++size;
  return size;
}

bool is_ascii(std::string_view text) {
  unsigned char any = 0;
  for (const char c : text) any |= static_cast<unsigned char>(c);
  return any < 0x80U;
}

/// Reads where encodings need no check, several characters at a time, and turns escapes where they
/// stand.
bool read_ascii(std::string_view text, Builder& builder) {
  constexpr std::size_t kBeyondEnd = 16;  // RapidJSON looks at what is aligned
  std::string copy;
  copy.reserve(text.size() + kBeyondEnd);
  copy = text;
  rapidjson::InsituStringStream stream(copy.data());
  rapidjson::Reader reader;
  constexpr unsigned kHow = rapidjson::kParseIterativeFlag | rapidjson::kParseInsituFlag;
  return !reader.Parse<kHow>(stream, builder).IsError();
}

bool read_utf8(std::string_view text, Builder& builder) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  constexpr unsigned kHow = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  return !reader.Parse<kHow>(stream, builder).IsError();
}

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
  HOOKE_CHECK(end.ec == std::errc(), "a number has at most twenty digits");
  out.append(digits.data(), end.ptr);
}

}  // namespace

std::optional<json> plain_json(std::string_view text) {
  // RapidJSON ends at a zero byte, and takes half of a pair of surrogates.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  if (text.find("\\u") != std::string_view::npos) return std::nullopt;
  Builder builder;
  const bool is_read = is_ascii(text) ? read_ascii(text, builder) : read_utf8(text, builder);
  if (!is_read) return std::nullopt;
  json read = builder.take();
  if (!read.is_structured()) return std::nullopt;
  return read;
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
  std::size_t plain = plain_prefix(text);
  if (plain == text.size()) {  // the usual case, in one step
    out.resize(before + plain + 2, '"');
    text.copy(out.data() + before + 1, plain);
    return;
  }
  out += '"';
  for (std::string_view left = text;; plain = plain_prefix(left)) {
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
