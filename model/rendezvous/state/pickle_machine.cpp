// Objects, stack and memo of the machine; what the single opcodes do with them is in
// pickle_opcodes.cpp, what the known classes do in pickle_classes.cpp.
#include "model/rendezvous/state/pickle_machine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/rendezvous/state/pickle_text.h"
#include "model/rendezvous/state/undecodable_state.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::size_t kBytesMax = 1UL << 30U;
constexpr std::size_t kNestingMax = 64;
constexpr std::size_t kReservedMax = 100'000;
constexpr std::size_t kCopiesMax = 4;  ///< of each byte, on average

}  // namespace

std::string_view to_string(PickleKind kind) {
  static constexpr std::array<std::string_view, 26> kNames{
      "None",           "a boolean",      "an integer",      "a float",
      "a text",         "bytes",          "a tuple",         "a list",
      "a dict",         "a set",          "the state class", "the node class",
      "class datetime", "class timezone", "class timedelta", "class set",
      "class list",     "class dict",     "class object",    "_reconstructor",
      "encode",         "a state",        "a node",          "a datetime",
      "a timezone",     "a timedelta"};
  HOOKE_CHECK(static_cast<std::size_t>(kind) < kNames.size(), "each kind of object has a name");
  return kNames[static_cast<std::size_t>(kind)];
}

void refuse_pickle(std::size_t offset, const std::string& expected, const std::string& found,
                   const char* escapes_as) {
  throw UndecodableState("the stored state cannot be read: byte " + std::to_string(offset) +
                             ": expected " + expected + ", got " + found,
                         escapes_as);
}

std::string quoted_for_message(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kShown ? "...\"" : "\"");
}

PickleMachine::PickleMachine(std::string_view bytes) : bytes_(bytes) {
  if (bytes.size() > kBytesMax) {
    refuse("at most " + std::to_string(kBytesMax) + " bytes", std::to_string(bytes.size()));
  }
  // A state has about so many objects, items and memo places per byte.
  const std::size_t guess = std::min(bytes.size() / 8, kReservedMax);
  objects_.reserve(guess + 16);
  items_.reserve(guess);
  memo_.reserve(guess);
  objects_.emplace_back();
}

std::uint64_t PickleMachine::number(std::size_t byte_count) {
  HOOKE_CHECK(byte_count <= sizeof(std::uint64_t), "a number has at most 64 bits");
  const std::string_view raw = take(byte_count);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < byte_count; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
  }
  return value;
}

std::string_view PickleMachine::take(std::uint64_t byte_count) {
  HOOKE_CHECK(position_ <= bytes_.size(), "what is read lies in the data");
  if (byte_count > bytes_.size() - position_) {
    refuse(std::to_string(byte_count) + " bytes more",
           "the end of the data after " + std::to_string(bytes_.size() - position_));
  }
  const std::string_view out = bytes_.substr(position_, static_cast<std::size_t>(byte_count));
  position_ += out.size();
  return out;
}

std::string_view PickleMachine::line() {
  HOOKE_CHECK(position_ <= bytes_.size(), "what is read lies in the data");
  const std::size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) refuse("the end of a line", "the end of the data");
  const std::string_view out = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return out;
}

std::int64_t PickleMachine::decimal(std::string_view digits) const {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    const bool is_large = result.ec == std::errc::result_out_of_range && result.ptr == end;
    refuse("a decimal number of at most 64 bits", quoted_for_message(digits),
           is_large ? nullptr : "ValueError");
  }
  return value;
}

std::int64_t PickleMachine::signed_number(std::uint64_t byte_count) {
  if (byte_count == 0) return 0;
  if (byte_count > 8) {
    refuse("an integer of at most 8 bytes", std::to_string(byte_count) + " bytes");
  }
  const auto unused_bits = static_cast<unsigned>(64 - 8 * byte_count);
  const std::uint64_t raw = number(static_cast<std::size_t>(byte_count)) << unused_bits;
  return static_cast<std::int64_t>(raw) >> unused_bits;
}

PickleObject& PickleMachine::push(Kind kind, std::int64_t value) {
  PickleObject& object = objects_.emplace_back();
  object.kind = kind;
  object.offset = static_cast<std::uint32_t>(at_);
  object.number = value;
  stack_.push_back(static_cast<PickleIndex>(objects_.size() - 1));
  return object;
}

void PickleMachine::push_text(Kind kind, std::string_view text) {
  PickleObject& object = push(kind);
  object.data = text.data();
  object.size = static_cast<std::uint32_t>(text.size());
}

void PickleMachine::push_utf8(std::string_view text) {
  if (!is_pickle_utf8(text)) refuse("UTF-8", quoted_for_message(text), "UnicodeDecodeError");
  push_text(Kind::text, text);
}

void PickleMachine::push_ascii(std::string_view text) {
  if (!is_ascii(text)) refuse("ASCII", quoted_for_message(text), "UnicodeDecodeError");
  push_text(Kind::text, text);
}

std::string_view PickleMachine::keep(std::string text) {
  spend(text.size());
  return kept_.emplace_back(std::move(text));
}

void PickleMachine::push_collection(Kind kind, std::span<const PickleIndex> items) {
  push(kind);
  extend(stack_.back(), kind, items, false);
}

void PickleMachine::push_top(std::size_t count) {
  HOOKE_CHECK(1 <= count && count <= 3, "a tuple without a mark has up to three items");
  std::array<PickleIndex, 3> items{};
  for (std::size_t i = count; i-- > 0;) items[i] = pop();
  push_collection(Kind::tuple, {items.data(), count});
}

void PickleMachine::push_marked(Kind kind) {
  push(kind);
  const PickleIndex made = stack_.back();
  stack_.pop_back();
  extend(made, kind, marked(), kind == Kind::dict);
  drop_marked();
  stack_.push_back(made);
}

void PickleMachine::extend(PickleIndex target, Kind kind, std::span<const PickleIndex> items,
                           bool pairs) {
  PickleObject& object = objects_[target];
  if (object.kind != kind) {
    // A dict is written to, the others have a method for it.
    refuse(std::string(to_string(kind)) + " to add to", object,
           kind == Kind::dict ? "TypeError" : "AttributeError");
  }
  if (pairs && items.size() % 2 != 0) refuse("a value for each key", "a key more");
  reserve_items(object, items.size());
  HOOKE_CHECK(object.size + items.size() <= object.capacity, "each item has its place");
  std::copy(items.begin(), items.end(), items_.begin() + object.first_item + object.size);
  object.size += static_cast<std::uint32_t>(items.size());
  deepen(object, items);
}

void PickleMachine::extend_marked(Kind kind, bool pairs) {
  if (marks_.empty()) refuse("a mark", "none");
  const std::size_t mark = marks_.back();
  const std::size_t below = marks_.size() > 1 ? marks_[marks_.size() - 2] : 0;
  if (mark == below) refuse("an object before the mark", "nothing");
  HOOKE_CHECK(below < mark && mark <= stack_.size(), "marks rise with the stack");
  extend(stack_[mark - 1], kind, marked(), pairs);
  drop_marked();
}

void PickleMachine::copy_items(PickleIndex from, PickleIndex to) {
  HOOKE_CHECK(from != to, "no collection is copied into itself");
  HOOKE_CHECK(from < objects_.size() && to < objects_.size(), "what is copied is an object");
  const std::uint32_t count = objects_[from].size;
  spend(count);
  PickleObject& target = objects_[to];
  reserve_items(target, count);
  HOOKE_CHECK(target.size + count <= target.capacity, "each item has its place");
  const auto source = items_.begin() + objects_[from].first_item;
  std::copy(source, source + count, items_.begin() + target.first_item + target.size);
  target.size += count;
  deepen(target, items(objects_[from]));
}

void PickleMachine::reserve_items(PickleObject& target, std::size_t more) {
  const std::size_t needed = target.size + more;
  if (needed <= target.capacity) return;
  const std::size_t capacity = std::max<std::size_t>(needed, std::size_t{target.capacity} * 2);
  const std::size_t begin = items_.size();
  items_.resize(begin + capacity);
  HOOKE_CHECK(target.size <= target.capacity, "items lie in the places kept for them");
  HOOKE_CHECK(target.first_item + target.size <= begin, "new places come behind all others");
  const auto old = items_.begin() + target.first_item;
  std::copy(old, old + target.size, items_.begin() + static_cast<std::ptrdiff_t>(begin));
  target.first_item = static_cast<std::uint32_t>(begin);
  target.capacity = static_cast<std::uint32_t>(capacity);
}

void PickleMachine::deepen(PickleObject& target, std::span<const PickleIndex> items) {
  std::size_t depth = target.depth;
  for (const PickleIndex item : items) {
    depth = std::max<std::size_t>(depth, objects_[item].depth + 1U);
  }
  if (depth > kNestingMax) refuse("nesting of at most 64", "deeper nesting");
  target.depth = static_cast<unsigned char>(depth);
}

void PickleMachine::spend(std::size_t units) {
  spent_ += units;
  if (spent_ / kCopiesMax > bytes_.size()) {
    refuse("data that is read once", "data that is copied many times");
  }
}

PickleIndex PickleMachine::pop() {
  const PickleIndex out = top();
  stack_.pop_back();
  return out;
}

PickleIndex PickleMachine::top() const {
  HOOKE_CHECK(fence() <= stack_.size(), "no object below a mark is taken");
  if (stack_.size() == fence()) {
    refuse("an object on the stack", marks_.empty() ? "an empty stack" : "a mark");
  }
  return stack_.back();
}

std::span<const PickleIndex> PickleMachine::marked() const {
  if (marks_.empty()) refuse("a mark", "none");
  HOOKE_CHECK(marks_.back() <= stack_.size(), "a mark lies in the stack");
  return std::span<const PickleIndex>(stack_).subspan(marks_.back());
}

void PickleMachine::drop_marked() {
  HOOKE_CHECK(!marks_.empty() && marks_.back() <= stack_.size(), "a mark lies in the stack");
  stack_.resize(marks_.back());
  marks_.pop_back();
}

void PickleMachine::put(std::uint64_t place) {
  // Python numbers its memo without holes.
  if (place > memo_.size()) {
    refuse("a memo place of at most " + std::to_string(memo_.size()), std::to_string(place));
  }
  if (place == memo_.size()) {
    memo_.push_back(top());
  } else {
    memo_[static_cast<std::size_t>(place)] = top();
  }
}

void PickleMachine::get(std::uint64_t place) {
  if (place >= memo_.size()) {
    refuse("a memo place below " + std::to_string(memo_.size()), std::to_string(place));
  }
  stack_.push_back(memo_[static_cast<std::size_t>(place)]);
}

}  // namespace hooke::model
