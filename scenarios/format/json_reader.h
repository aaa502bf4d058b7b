#pragma once
// JSON from outside, read without trust: size, nesting, encoding and duplicate keys are checked
// before anybody looks at a value, and every complaint names its place.

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/time.h"

namespace hooke::scenario {

/// Bad input: "<file>: <JSON pointer or byte offset>: expected …, got …".
class ScenarioError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An object has a key that is not known there.
class UnknownKey : public ScenarioError {
 public:
  /// `hint` follows the complaint: "; did you mean …".
  UnknownKey(std::string complaint, const std::string& hint, std::string key, std::string pointer)
      : ScenarioError(complaint + hint),
        complaint_(std::move(complaint)),
        key_(std::move(key)),
        pointer_(std::move(pointer)) {}
  [[nodiscard]] const std::string& complaint() const { return complaint_; }  ///< without a hint
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }  ///< of the object

 private:
  std::string complaint_;
  std::string key_;
  std::string pointer_;
};

inline constexpr std::size_t kScenarioBytesMax = 16 * 1024 * 1024;
inline constexpr std::size_t kNestingMax = 64;
/// Of all values of a file. 16 MiB of the smallest ones would take a gigabyte of memory.
inline constexpr std::size_t kValuesMax = 2'000'000;
/// The longest span a scenario may name: ten years, so that sums of spans stay far from overflow.
inline constexpr sim::Duration kSpanMax = std::chrono::hours(24 * 365 * 10);

/// The bytes of a file; of the standard input, when `path` is "-". ScenarioError when it cannot be
/// read, is a directory or has more than kScenarioBytesMax bytes; a regular file of that kind is
/// refused before any of it is read.
std::string read_file(const std::string& path);

/// ScenarioError for a file that could not be opened, `error` being its errno: "x.json: no such file".
[[noreturn]] void refuse_unopened(const std::string& path, int error);

/// Where a person finds that byte: "line 3, column 7", counted from 1 and in bytes; of a text of one
/// line "byte 6", counted from 0.
std::string place_in(std::string_view text, std::size_t offset);

/// Parses `text`; `source` names it in messages. ScenarioError for broken or truncated JSON and
/// broken UTF-8 (both with the place of the first wrong byte), nesting beyond 64, more than
/// kValuesMax values, and a key that stands twice in one object.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& source);

/// The candidate nearest to `word` by edit distance, when it is near enough to be a slip: two slips,
/// or one in four letters of what follows a prefix that both have ("safety.", "smoke/").
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// A value together with where it stands. Reading checks the type and complains by pointer.
class Place {
 public:
  Place(const nlohmann::ordered_json& value, std::string pointer, const std::string& source)
      : value_(value), pointer_(std::move(pointer)), source_(source) {}

  /// ScenarioError at this place. `hint` is appended ("did you mean …").
  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const;
  [[noreturn]] void refuse_value(const std::string& expected) const;
  [[noreturn]] void refuse_word(const std::string& expected, const std::string& word,
                                const std::vector<std::string>& candidates) const;

  /// Must be an object with no other keys than these.
  const Place& object(const std::vector<std::string>& keys) const;
  [[nodiscard]] bool has(const std::string& key) const {
    return value_.is_object() && value_.contains(key);
  }
  /// The member `key`; a complaint at this place when it is missing.
  [[nodiscard]] Place at(const std::string& key) const;
  [[nodiscard]] std::vector<Place> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, Place>> members() const;

  [[nodiscard]] std::string text() const;
  /// A text that reaches terminals and logs, where other control characters than ends of lines and
  /// tabs could rewrite what stands there.
  [[nodiscard]] std::string shown_text() const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::uint64_t unsigned_integer() const;
  [[nodiscard]] sim::Duration duration() const;           ///< from 0 to kSpanMax
  [[nodiscard]] sim::Duration positive_duration() const;  ///< above 0, to kSpanMax
  [[nodiscard]] sim::Duration signed_duration() const;    ///< from -kSpanMax to kSpanMax
  [[nodiscard]] const nlohmann::ordered_json& json() const { return value_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }

 private:
  const nlohmann::ordered_json& value_;
  std::string pointer_;
  const std::string& source_;
};

}  // namespace hooke::scenario
