#pragma once
// A stored state comes from an agent that can reach the store, and Python's own reader would
// execute what it says. This machine runs the opcodes of a pickle over a closed set of plain
// values: nothing is ever looked up, imported or called, and memory and time are bounded by the
// size of the data.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/check.h"

namespace hooke::model {

/// What an object of a pickle is.
enum class PickleKind : unsigned char {
  none,
  boolean,
  integer,
  real,
  text,
  bytes,
  tuple,
  list,
  dict,
  set,
  state_class,
  node_class,
  datetime_class,
  timezone_class,
  timedelta_class,
  set_class,
  list_class,
  dict_class,
  object_class,
  reconstructor,
  latin1_encoder,
  state,
  node,
  datetime,
  timezone,
  timedelta,
};

/// For error texts: "an integer", "a tuple".
std::string_view to_string(PickleKind kind);

/// Number of an object inside one machine.
using PickleIndex = std::uint32_t;

struct PickleObject {
  PickleKind kind = PickleKind::none;
  unsigned char depth = 0;     ///< of nesting below it
  std::uint32_t offset = 0;    ///< of the opcode that made it
  std::int64_t number = 0;     ///< integer, boolean; timedelta and timezone: microseconds
  const char* data = nullptr;  ///< text, bytes, and the ten bytes of a datetime
  std::uint32_t size = 0;      ///< of data; or number of items
  /// Tuple, list, set: members; dict, and attributes of a state or a node: keys and values in turn.
  std::uint32_t first_item = 0;
  std::uint32_t capacity = 0;  ///< places kept for items
  PickleIndex zone = 0;        ///< datetime: its timezone, 0 when it has none
};

/// Throws UndecodableState: "byte OFFSET: expected EXPECTED, got FOUND". `escapes_as`: the class of
/// what Python raises for it, where that is no PickleError.
[[noreturn]] void refuse_pickle(std::size_t offset, const std::string& expected,
                                const std::string& found, const char* escapes_as = nullptr);
/// `text` as it may stand in a message: quoted, short, printable.
std::string quoted_for_message(std::string_view text);

class PickleMachine {
 public:
  /// `bytes` must outlive the machine.
  explicit PickleMachine(std::string_view bytes);

  /// Runs up to STOP, which must end the data; returns the object that is left.
  PickleIndex run();

  [[nodiscard]] const PickleObject& object(PickleIndex i) const { return objects_[i]; }
  [[nodiscard]] std::size_t objects() const { return objects_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] std::string_view text(const PickleObject& object) const {
    HOOKE_CHECK(object.data != nullptr || object.size == 0, "a text has its characters");
    return {object.data, object.size};
  }
  /// Valid until the machine goes on.
  [[nodiscard]] std::span<const PickleIndex> items(const PickleObject& object) const {
    HOOKE_CHECK(std::size_t{object.first_item} + object.size <= items_.size(),
                "the items of a collection are there");
    return {items_.data() + object.first_item, object.size};
  }

 private:
  using Kind = PickleKind;
  using Step = void (*)(PickleMachine&);
  struct Steps;  ///< what each opcode does

  [[noreturn]] void refuse(const std::string& expected, const std::string& found,
                           const char* escapes_as = nullptr) const {
    refuse_pickle(at_, expected, found, escapes_as);
  }
  [[noreturn]] void refuse(const std::string& expected, const PickleObject& found,
                           const char* escapes_as = nullptr) const {
    refuse(expected, std::string(to_string(found.kind)), escapes_as);
  }

  // ---- input ----
  std::uint64_t number(std::size_t byte_count);
  std::string_view take(std::uint64_t byte_count);
  std::string_view line();
  std::int64_t decimal(std::string_view digits) const;
  std::int64_t signed_number(std::uint64_t byte_count);

  // ---- objects ----
  PickleObject& push(Kind kind, std::int64_t value = 0);
  void push_text(Kind kind, std::string_view text);
  void push_utf8(std::string_view text);
  void push_ascii(std::string_view text);
  /// A text that is not part of the data; counts as work.
  std::string_view keep(std::string text);
  void push_collection(Kind kind, std::span<const PickleIndex> items);
  void push_top(std::size_t count);
  void push_marked(Kind kind);
  /// Appends to the items of `target`, which must be of `kind`. `pairs`: an even number.
  void extend(PickleIndex target, Kind kind, std::span<const PickleIndex> items, bool pairs);
  void extend_marked(Kind kind, bool pairs);
  void copy_items(PickleIndex from, PickleIndex to);
  void reserve_items(PickleObject& target, std::size_t more);
  void deepen(PickleObject& target, std::span<const PickleIndex> items);
  /// Copying must stay in proportion to the data, or a short pickle could fill the memory.
  void spend(std::size_t units);

  // ---- stack and memo ----
  [[nodiscard]] std::size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleIndex pop();
  [[nodiscard]] PickleIndex top() const;
  [[nodiscard]] std::span<const PickleIndex> marked() const;
  void drop_marked();
  void put(std::uint64_t place);
  void get(std::uint64_t place);

  // ---- classes (pickle_classes.cpp) ----
  void global(std::string_view module, std::string_view name);
  void new_object();
  void reduce();
  void build();
  void construct_datetime(std::span<const PickleIndex> arguments);
  void construct_timedelta(std::span<const PickleIndex> arguments);
  void construct_timezone(std::span<const PickleIndex> arguments);
  void construct_set(std::span<const PickleIndex> arguments);
  void reconstruct(std::span<const PickleIndex> arguments);
  void encode_latin1(std::span<const PickleIndex> arguments);
  std::string latin1(std::string_view utf8) const;

  std::string_view bytes_;
  std::size_t position_ = 0;
  std::size_t at_ = 0;  ///< where the current opcode stands
  std::size_t spent_ = 0;
  bool stopped_ = false;
  std::vector<PickleObject> objects_;  ///< number 0 is None, so that it can mean "no object"
  std::vector<PickleIndex> items_;     ///< of all collections
  std::deque<std::string> kept_;
  std::vector<PickleIndex> stack_;
  std::vector<std::size_t> marks_;  ///< heights of the stack
  std::vector<PickleIndex> memo_;
};

}  // namespace hooke::model
