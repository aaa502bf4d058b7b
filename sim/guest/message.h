#pragma once
// What hooke and a guest say to each other: values that Python's marshal module writes and reads in
// its version 2, the one without references, so that the guest needs neither a package nor a parser
// of its own.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hooke::guest {

/// The guest, or the talk with it, has failed: a failure of the harness, never of the program that
/// is tested.
class GuestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Python's bytes, where std::string stands for its str.
struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

/// None, bool, int (of 64 bits), str, bytes, or a list of such values.
class Message {
 public:
  using List = std::vector<Message>;

  Message() = default;
  Message(bool truth) : value_(truth) {}                    // NOLINT
  Message(int number) : value_(std::int64_t{number}) {}     // NOLINT
  Message(std::int64_t number) : value_(number) {}          // NOLINT
  Message(const char* text) : value_(std::string(text)) {}  // NOLINT
  Message(std::string text) : value_(std::move(text)) {}    // NOLINT
  Message(Bytes bytes) : value_(std::move(bytes)) {}        // NOLINT
  Message(List list) : value_(std::move(list)) {}           // NOLINT

  [[nodiscard]] bool is_none() const { return value_.index() == 0; }
  // The value as what it must be; GuestError naming both when it is something else.
  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::int64_t number() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& bytes() const;
  [[nodiscard]] const List& list() const;
  /// Element `index` of a list; GuestError when there is none.
  [[nodiscard]] const Message& at(std::size_t index) const;

  friend bool operator==(const Message&, const Message&) = default;

 private:
  friend std::string encode(const Message& message);
  std::variant<std::monostate, bool, std::int64_t, std::string, Bytes, List> value_;
};

/// As `marshal.dumps(value, 2)` would write it; lists become tuples.
std::string encode(const Message& message);

/// What `marshal.dumps(value, 2)` has written. GuestError naming the byte and what was expected for
/// anything else: other types, numbers of more than 64 bits, bytes that are missing or left over.
Message decode(std::string_view bytes);

}  // namespace hooke::guest
