// A pickle machine over a closed set of values. Machine runs the opcodes and builds plain Objects;
// Builder then turns the root object into a state, checking every type.
#include "model/rendezvous/pickle_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <string_view>

namespace hooke::model {
namespace {

constexpr std::size_t kOpcodesMax = 1'000'000;
constexpr int kNestingMax = 64;
constexpr std::string_view kModule = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";

enum class Kind : unsigned char {
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
  mark,
  class_state,
  class_node,
  class_datetime,
  class_timezone,
  class_timedelta,
  class_set,
  class_object,
  class_reconstructor,
  class_encode,
  state,
  node,
  datetime,
  timezone,
  timedelta,
};

struct Object {
  Kind kind = Kind::none;
  std::int64_t number = 0;           ///< integer, boolean; timedelta and timezone: microseconds
  std::string text;                  ///< text, bytes; datetime: its ten bytes
  std::vector<std::uint32_t> items;  ///< tuple, list, set: members; dict: keys and values in turn
  std::uint32_t attributes =
      0;  ///< state, node: the dict given to BUILD; datetime: its timezone (0: naive)
  int depth = 0;
};

[[noreturn]] void refuse(std::size_t offset, const std::string& expected,
                         const std::string& found) {
  throw RendezvousStateError("the stored state cannot be read: byte " + std::to_string(offset) +
                             ": expected " + expected + ", got " + found);
}

std::string hex(unsigned char byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  return std::string("0x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
}

class Machine {
 public:
  explicit Machine(const std::string& bytes) : bytes_(bytes) { objects_.emplace_back(); }

  std::uint32_t run() {
    while (!stopped_) {
      if (++opcodes_ > kOpcodesMax) refuse(position_, "at most 1000000 opcodes", "more");
      at_ = position_;
      step(byte());
    }
    if (position_ != bytes_.size()) refuse(position_, "the end of the data", "more bytes");
    if (stack_.size() != 1) refuse(at_, "one object on the stack", std::to_string(stack_.size()));
    return stack_.back();
  }
  [[nodiscard]] const Object& object(std::uint32_t i) const { return objects_[i]; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  // ---- input ----
  unsigned char byte() {
    if (position_ == bytes_.size())
      refuse(position_, "an opcode or its argument", "the end of the data");
    return static_cast<unsigned char>(bytes_[position_++]);
  }
  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  std::string take(std::uint64_t count) {
    if (count > bytes_.size() - position_) {
      refuse(at_, std::to_string(count) + " bytes of data", "the end of the data");
    }
    std::string out = bytes_.substr(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return out;
  }
  std::string line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string::npos) refuse(at_, "a line end", "the end of the data");
    std::string out = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return out;
  }
  std::int64_t decimal(std::string_view digits) {
    std::int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      refuse(at_, "a decimal number of at most 64 bits", "\"" + std::string(digits) + "\"");
    }
    return value;
  }
  std::int64_t long_number(std::uint64_t count) {
    if (count > 8) refuse(at_, "an integer of at most 64 bits", std::to_string(count) + " bytes");
    if (count == 0) return 0;
    std::uint64_t value = number(static_cast<std::size_t>(count));
    const unsigned shift = static_cast<unsigned>(64 - 8 * count);
    return static_cast<std::int64_t>(value << shift) >> shift;
  }

  // ---- stack ----
  std::uint32_t make(Object object) {
    for (const std::uint32_t item : object.items) {
      object.depth = std::max(object.depth, objects_[item].depth + 1);
    }
    check_depth(object.depth);
    objects_.push_back(std::move(object));
    return static_cast<std::uint32_t>(objects_.size() - 1);
  }
  void check_depth(int depth) {
    if (depth > kNestingMax) refuse(at_, "nesting of at most 64", "deeper nesting");
  }
  void push(Object object) { stack_.push_back(make(std::move(object))); }
  void push(Kind kind, std::int64_t value = 0, std::string text = {}) {
    Object object;
    object.kind = kind;
    object.number = value;
    object.text = std::move(text);
    push(std::move(object));
  }
  std::uint32_t pop() {
    if (stack_.empty()) refuse(at_, "an object on the stack", "an empty stack");
    const std::uint32_t top = stack_.back();
    stack_.pop_back();
    if (objects_[top].kind == Kind::mark) refuse(at_, "an object", "a mark");
    return top;
  }
  Object& top(Kind kind, const char* what) {
    if (stack_.empty() || objects_[stack_.back()].kind != kind) refuse(at_, what, "something else");
    return objects_[stack_.back()];
  }
  std::vector<std::uint32_t> pop_to_mark() {
    std::vector<std::uint32_t> items;
    while (!stack_.empty() && objects_[stack_.back()].kind != Kind::mark) {
      items.push_back(stack_.back());
      stack_.pop_back();
    }
    if (stack_.empty()) refuse(at_, "a mark on the stack", "none");
    stack_.pop_back();
    return {items.rbegin(), items.rend()};
  }
  void extend(Kind kind, const char* what, const std::vector<std::uint32_t>& items, bool pairs) {
    if (pairs && items.size() % 2 != 0) refuse(at_, "keys with values", "a key without a value");
    Object& target = top(kind, what);
    target.items.insert(target.items.end(), items.begin(), items.end());
    for (const std::uint32_t item : items)
      target.depth = std::max(target.depth, objects_[item].depth + 1);
    check_depth(target.depth);
  }
  void collect(Kind kind, std::vector<std::uint32_t> items) {
    Object object;
    object.kind = kind;
    object.items = std::move(items);
    push(std::move(object));
  }
  void tuple(std::size_t count) {
    std::vector<std::uint32_t> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    collect(Kind::tuple, std::move(items));
  }

  // ---- memo ----
  void put(std::uint64_t place) {
    if (stack_.empty()) refuse(at_, "an object to memoise", "an empty stack");
    if (place > kOpcodesMax) refuse(at_, "a memo place of at most 1000000", std::to_string(place));
    memo_[place] = stack_.back();
  }
  void get(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) refuse(at_, "a memo place that was written", std::to_string(place));
    stack_.push_back(found->second);
  }

  void global(const std::string& module, const std::string& name);
  void construct(std::uint32_t cls, const Object& arguments);
  void reduce();
  void build();
  void datetime(const Object& arguments);
  void timedelta(const Object& arguments);
  bool step_literal(unsigned char opcode);
  bool step_collection(unsigned char opcode);
  bool step_memo(unsigned char opcode);
  void step(unsigned char opcode);

  const std::string& bytes_;
  std::size_t position_ = 0;
  std::size_t at_ = 0;
  std::size_t opcodes_ = 0;
  bool stopped_ = false;
  std::vector<Object> objects_;  ///< index 0 is None
  std::vector<std::uint32_t> stack_;
  std::map<std::uint64_t, std::uint32_t> memo_;
  std::uint64_t next_memo_ = 0;
};

void Machine::global(const std::string& module, const std::string& name) {
  struct Known {
    std::string_view module, name;
    Kind kind;
  };
  static constexpr std::array<Known, 17> kKnown{{
      {kModule, "_RendezvousState", Kind::class_state},
      {kModule, "_NodeDesc", Kind::class_node},
      {"datetime", "datetime", Kind::class_datetime},
      {"datetime", "timezone", Kind::class_timezone},
      {"datetime", "timedelta", Kind::class_timedelta},
      {"builtins", "set", Kind::class_set},
      {"__builtin__", "set", Kind::class_set},
      {"builtins", "frozenset", Kind::class_set},
      {"__builtin__", "frozenset", Kind::class_set},
      {"builtins", "object", Kind::class_object},
      {"__builtin__", "object", Kind::class_object},
      {"copyreg", "_reconstructor", Kind::class_reconstructor},
      {"copy_reg", "_reconstructor", Kind::class_reconstructor},
      {"_codecs", "encode", Kind::class_encode},
      {"builtins", "list", Kind::list},
      {"builtins", "dict", Kind::dict},
      {"__builtin__", "dict", Kind::dict},
  }};
  for (const Known& known : kKnown) {
    if (known.module == module && known.name == name) return push(known.kind);
  }
  refuse(at_, "a class of the rendezvous state", module + "." + name + " (never loaded)");
}

void Machine::construct(std::uint32_t cls, const Object& arguments) {
  switch (objects_[cls].kind) {
    case Kind::class_state:
    case Kind::class_node:
      if (!arguments.items.empty()) refuse(at_, "no constructor arguments", "some");
      return push(objects_[cls].kind == Kind::class_state ? Kind::state : Kind::node);
    case Kind::class_datetime: return datetime(arguments);
    case Kind::class_timedelta: return timedelta(arguments);
    case Kind::class_timezone: {
      if (arguments.items.size() != 1 || objects_[arguments.items[0]].kind != Kind::timedelta) {
        refuse(at_, "a timedelta for the timezone", "something else");
      }
      return push(Kind::timezone, objects_[arguments.items[0]].number);
    }
    case Kind::class_set: {
      if (arguments.items.size() != 1 || (objects_[arguments.items[0]].kind != Kind::list &&
                                          objects_[arguments.items[0]].kind != Kind::tuple)) {
        refuse(at_, "a list of the set's members", "something else");
      }
      return collect(Kind::set, std::vector<std::uint32_t>(objects_[arguments.items[0]].items));
    }
    case Kind::class_reconstructor: {
      if (arguments.items.size() != 3)
        refuse(at_, "three arguments", std::to_string(arguments.items.size()));
      const Kind kind = objects_[arguments.items[0]].kind;
      if (kind != Kind::class_state && kind != Kind::class_node)
        refuse(at_, "a class of the state", "another");
      return push(kind == Kind::class_state ? Kind::state : Kind::node);
    }
    case Kind::class_encode: {
      if (arguments.items.empty() || objects_[arguments.items[0]].kind != Kind::text) {
        refuse(at_, "a text to encode", "something else");
      }
      // Latin-1: each code point up to 255 is one byte.
      const std::string& utf8 = objects_[arguments.items[0]].text;
      std::string latin1;
      for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto c = static_cast<unsigned char>(utf8[i]);
        if (c < 0x80) {
          latin1 += utf8[i];
        } else if ((c & 0xfcU) == 0xc0U && i + 1 < utf8.size()) {
          latin1 +=
              static_cast<char>((c & 3U) << 6U | (static_cast<unsigned char>(utf8[++i]) & 0x3fU));
        } else {
          refuse(at_, "a Latin-1 text", "another character");
        }
      }
      return push(Kind::bytes, 0, latin1);
    }
    default: refuse(at_, "a class of the state to construct", "something else");
  }
}

void Machine::datetime(const Object& arguments) {
  if (arguments.items.empty() || arguments.items.size() > 2) {
    refuse(at_, "one or two arguments of datetime", std::to_string(arguments.items.size()));
  }
  const Object& packed = objects_[arguments.items[0]];
  if ((packed.kind != Kind::bytes && packed.kind != Kind::text) || packed.text.size() != 10) {
    refuse(at_, "the ten bytes of a datetime", "something else");
  }
  Object object;
  object.kind = Kind::datetime;
  object.text = packed.text;
  if (arguments.items.size() == 2) {
    if (objects_[arguments.items[1]].kind != Kind::timezone)
      refuse(at_, "a timezone", "something else");
    object.attributes = arguments.items[1];
  }
  push(std::move(object));
}

void Machine::timedelta(const Object& arguments) {
  std::array<std::int64_t, 3> parts{};
  if (arguments.items.size() > 3) refuse(at_, "at most three arguments of timedelta", "more");
  for (std::size_t i = 0; i < arguments.items.size(); ++i) {
    const Object& part = objects_[arguments.items[i]];
    if (part.kind != Kind::integer || part.number > 1'000'000'000 || part.number < -1'000'000'000) {
      refuse(at_, "small integers in a timedelta", "something else");
    }
    parts[i] = part.number;
  }
  const std::int64_t micros = (parts[0] * 86'400 + parts[1]) * 1'000'000 + parts[2];
  if (micros <= -86'400'000'000 || micros >= 86'400'000'000)
    refuse(at_, "an offset below a day", "a larger one");
  push(Kind::timedelta, micros);
}

void Machine::reduce() {
  const std::uint32_t arguments = pop();
  const std::uint32_t callable = pop();
  if (objects_[arguments].kind != Kind::tuple)
    refuse(at_, "a tuple of arguments", "something else");
  const Object copy = objects_[arguments];
  construct(callable, copy);
}

void Machine::build() {
  std::uint32_t attributes = pop();
  if (objects_[attributes].kind == Kind::tuple && objects_[attributes].items.size() == 2) {
    const auto& pair = objects_[attributes].items;
    attributes = objects_[pair[0]].kind == Kind::dict ? pair[0] : pair[1];
  }
  if (objects_[attributes].kind != Kind::dict)
    refuse(at_, "a dict of attributes", "something else");
  if (stack_.empty()) refuse(at_, "an object to build", "an empty stack");
  Object& target = objects_[stack_.back()];
  if (target.kind != Kind::state && target.kind != Kind::node) {
    refuse(at_, "a state or a node to build", "something else");
  }
  target.attributes = attributes;
  target.depth = std::max(target.depth, objects_[attributes].depth + 1);
  check_depth(target.depth);
}

bool Machine::step_literal(unsigned char opcode) {
  switch (opcode) {
    case 'N': push(Kind::none); return true;
    case 0x88: push(Kind::boolean, 1); return true;
    case 0x89: push(Kind::boolean, 0); return true;
    case 'K': push(Kind::integer, static_cast<std::int64_t>(number(1))); return true;
    case 'M': push(Kind::integer, static_cast<std::int64_t>(number(2))); return true;
    case 'J':
      push(Kind::integer, static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
      return true;
    case 0x8a: push(Kind::integer, long_number(number(1))); return true;
    case 0x8b: push(Kind::integer, long_number(number(4))); return true;
    case 'I': {
      const std::string digits = line();
      if (digits == "00" || digits == "01") {
        push(Kind::boolean, digits == "01" ? 1 : 0);
      } else {
        push(Kind::integer, decimal(digits));
      }
      return true;
    }
    case 'L': {
      std::string digits = line();
      if (!digits.empty() && digits.back() == 'L') digits.pop_back();
      push(Kind::integer, decimal(digits));
      return true;
    }
    case 'F':
      static_cast<void>(line());
      push(Kind::real);
      return true;
    case 'G':
      static_cast<void>(take(8));
      push(Kind::real);
      return true;
    case 0x8c: push(Kind::text, 0, take(number(1))); return true;
    case 'X': push(Kind::text, 0, take(number(4))); return true;
    case 0x8d: push(Kind::text, 0, take(number(8))); return true;
    case 'V': push(Kind::text, 0, line()); return true;
    case 'U': push(Kind::text, 0, take(number(1))); return true;
    case 'T': push(Kind::text, 0, take(number(4))); return true;
    case 'S': {
      const std::string quoted = line();
      if (quoted.size() < 2 || quoted.front() != quoted.back())
        refuse(at_, "a quoted string", quoted);
      push(Kind::text, 0, quoted.substr(1, quoted.size() - 2));
      return true;
    }
    case 'C': push(Kind::bytes, 0, take(number(1))); return true;
    case 'B': push(Kind::bytes, 0, take(number(4))); return true;
    case 0x8e:
    case 0x96: push(Kind::bytes, 0, take(number(8))); return true;
    default: return false;
  }
}

bool Machine::step_collection(unsigned char opcode) {
  switch (opcode) {
    case '(': push(Kind::mark); return true;
    case '0':
      if (!stack_.empty() && objects_[stack_.back()].kind == Kind::mark) {
        stack_.pop_back();
      } else {
        static_cast<void>(pop());
      }
      return true;
    case '1': static_cast<void>(pop_to_mark()); return true;
    case ')': collect(Kind::tuple, {}); return true;
    case 't': collect(Kind::tuple, pop_to_mark()); return true;
    case 0x85: tuple(1); return true;
    case 0x86: tuple(2); return true;
    case 0x87: tuple(3); return true;
    case ']': collect(Kind::list, {}); return true;
    case 'l': collect(Kind::list, pop_to_mark()); return true;
    case '}': collect(Kind::dict, {}); return true;
    case 'd': {
      const auto items = pop_to_mark();
      collect(Kind::dict, {});
      extend(Kind::dict, "a dict", items, true);
      return true;
    }
    case 0x8f: collect(Kind::set, {}); return true;
    case 0x91: collect(Kind::set, pop_to_mark()); return true;
    case 'a': {
      const std::uint32_t item = pop();
      extend(Kind::list, "a list", {item}, false);
      return true;
    }
    case 'e': {
      const auto items = pop_to_mark();
      extend(Kind::list, "a list", items, false);
      return true;
    }
    case 's': {
      const std::uint32_t value = pop();
      const std::uint32_t key = pop();
      extend(Kind::dict, "a dict", {key, value}, true);
      return true;
    }
    case 'u': {
      const auto items = pop_to_mark();
      extend(Kind::dict, "a dict", items, true);
      return true;
    }
    case 0x90: {
      const auto items = pop_to_mark();
      extend(Kind::set, "a set", items, false);
      return true;
    }
    default: return false;
  }
}

bool Machine::step_memo(unsigned char opcode) {
  switch (opcode) {
    case 0x94: put(next_memo_++); return true;
    case 'q': put(number(1)); return true;
    case 'r': put(number(4)); return true;
    case 'p': put(static_cast<std::uint64_t>(decimal(line()))); return true;
    case 'h': get(number(1)); return true;
    case 'j': get(number(4)); return true;
    case 'g': get(static_cast<std::uint64_t>(decimal(line()))); return true;
    case '2': {
      if (stack_.empty()) refuse(at_, "an object to duplicate", "an empty stack");
      stack_.push_back(stack_.back());
      return true;
    }
    default: return false;
  }
}

void Machine::step(unsigned char opcode) {
  if (step_literal(opcode) || step_collection(opcode) || step_memo(opcode)) return;
  switch (opcode) {
    case 0x80: {
      const auto version = number(1);
      if (version > 5) refuse(at_, "pickle protocol 0 to 5", std::to_string(version));
      return;
    }
    case 0x95: {
      const std::uint64_t length = number(8);
      if (length > bytes_.size() - position_)
        refuse(at_, "a frame inside the data", "a longer one");
      return;
    }
    case 'c': {
      const std::string module = line();
      return global(module, line());
    }
    case 0x93: {
      const std::uint32_t name = pop();
      const std::uint32_t module = pop();
      if (objects_[name].kind != Kind::text || objects_[module].kind != Kind::text) {
        refuse(at_, "the names of a module and a class", "something else");
      }
      return global(std::string(objects_[module].text), std::string(objects_[name].text));
    }
    case 0x92: {  // NEWOBJ_EX: keyword arguments must be empty
      const std::uint32_t keywords = pop();
      if (objects_[keywords].kind != Kind::dict || !objects_[keywords].items.empty()) {
        refuse(at_, "no keyword arguments", "some");
      }
      return reduce();
    }
    case 0x81:
    case 'R': return reduce();
    case 'b': return build();
    case '.': stopped_ = true; return;
    default: refuse(at_, "an opcode that a rendezvous state needs", hex(opcode));
  }
}

/// Turns the root object into a state.
class Builder {
 public:
  Builder(const Machine& machine, Variant variant) : machine_(machine), variant_(variant) {}

  RendezvousState state(std::uint32_t root) {
    const Object& object = machine_.object(root);
    if (object.kind != Kind::state) wrong("the root", "a rendezvous state");
    RendezvousState out;
    out.round = integer(attribute(object, "round"), "round");
    if (out.round < 0) wrong("round", "a number of at least 0");
    out.complete = boolean(attribute(object, "complete"), "complete");
    const Object& deadline = attribute(object, "deadline");
    bool aware = variant_ == Variant::torch_2_x;
    if (deadline.kind != Kind::none) out.deadline = time(deadline, "deadline", aware);
    out.closed = boolean(attribute(object, "closed"), "closed");
    const Object& participants =
        typed(attribute(object, "participants"), Kind::dict, "participants", "a dict");
    for (std::size_t i = 0; i < participants.items.size(); i += 2) {
      const std::int64_t rank = integer(machine_.object(participants.items[i + 1]), "a rank");
      const NodeRef ref = node(participants.items[i], "participants");
      if (out.participants.empty() || out.participant(ref) == nullptr)
        out.participants.push_back({ref, rank});
    }
    out.wait_list = set(attribute(object, "wait_list"), "wait_list");
    if (const Object* redundancy = find(object, "redundancy_list")) {
      out.redundancy_list = set(*redundancy, "redundancy_list");
    }
    const Object& heartbeats =
        typed(attribute(object, "last_heartbeats"), Kind::dict, "last_heartbeats", "a dict");
    for (std::size_t i = 0; i < heartbeats.items.size(); i += 2) {
      const sim::WallTime at = time(machine_.object(heartbeats.items[i + 1]), "a heartbeat", aware);
      out.last_heartbeats.push_back({node(heartbeats.items[i], "last_heartbeats"), at});
    }
    out.aware_times = aware;
    return out;
  }

 private:
  [[noreturn]] void wrong(const std::string& where, const std::string& expected) {
    refuse(machine_.size(), where + " to be " + expected, "something else");
  }
  const Object& typed(const Object& object, Kind kind, const std::string& where,
                      const char* expected) {
    if (object.kind != kind) wrong(where, expected);
    return object;
  }
  const Object* find(const Object& owner, std::string_view name) {
    const Object& attributes = machine_.object(owner.attributes);
    const Object* found = nullptr;
    if (attributes.kind != Kind::dict) return nullptr;
    for (std::size_t i = 0; i + 1 < attributes.items.size(); i += 2) {
      const Object& key = machine_.object(attributes.items[i]);
      if (key.kind == Kind::text && key.text == name)
        found = &machine_.object(attributes.items[i + 1]);
    }
    return found;
  }
  const Object& attribute(const Object& owner, std::string_view name) {
    const Object* const found = find(owner, name);
    if (found == nullptr) wrong(std::string(name), "present");
    return *found;
  }
  std::int64_t integer(const Object& object, const std::string& where) {
    return typed(object, Kind::integer, where, "an integer").number;
  }
  bool boolean(const Object& object, const std::string& where) {
    const bool zero_or_one =
        object.kind == Kind::integer && (object.number == 0 || object.number == 1);
    if (object.kind != Kind::boolean && !zero_or_one) wrong(where, "true or false");
    return object.number != 0;
  }
  sim::WallTime time(const Object& object, const std::string& where, bool& aware) {
    typed(object, Kind::datetime, where, "a datetime");
    const auto at = [&object](std::size_t i) { return static_cast<unsigned char>(object.text[i]); };
    using namespace std::chrono;
    const year_month_day date{year(at(0) << 8 | at(1)), month(at(2) & 0x7fU), day(at(3))};
    if (!date.ok() || at(4) > 23 || at(5) > 59 || at(6) > 59) wrong(where, "a valid date and time");
    aware = object.attributes != 0;
    const auto offset = microseconds(aware ? machine_.object(object.attributes).number : 0);
    const auto micros = sys_days(date).time_since_epoch() + hours(at(4)) + minutes(at(5)) +
                        seconds(at(6)) + microseconds(at(7) << 16 | at(8) << 8 | at(9)) - offset;
    // 64-bit nanoseconds span the years 1678 to 2261.
    if (date.year() < year(1700) || date.year() > year(2250))
      wrong(where, "a year of 1700 to 2250");
    return sim::WallTime(duration_cast<nanoseconds>(micros));
  }
  std::vector<NodeRef> set(const Object& object, const std::string& where) {
    typed(object, Kind::set, where, "a set");
    std::vector<NodeRef> out;
    for (const std::uint32_t item : object.items) out.push_back(node(item, where));
    return out;
  }
  NodeRef node(std::uint32_t index, const std::string& where) {
    const auto known = nodes_.find(index);
    if (known != nodes_.end()) return known->second;
    const Object& object = machine_.object(index);
    typed(object, Kind::node, where, "of nodes");
    const char* const names[] = {variant_ == Variant::torch_2_x ? "addr" : "fqdn",
                                 variant_ == Variant::torch_2_x ? "fqdn" : "addr"};
    const Object* addr = find(object, names[0]);
    if (addr == nullptr) addr = find(object, names[1]);
    if (addr == nullptr || addr->kind != Kind::text) wrong("the address of a node", "a text");
    NodeRef ref(NodeDesc{addr->text, integer(attribute(object, "pid"), "pid"),
                         integer(attribute(object, "local_id"), "local_id")});
    nodes_.emplace(index, ref);
    return ref;
  }

  const Machine& machine_;
  Variant variant_;
  std::map<std::uint32_t, NodeRef> nodes_;
};

}  // namespace

RendezvousState unpickle_state(const std::string& bytes, Variant variant) {
  Machine machine(bytes);
  const std::uint32_t root = machine.run();
  return Builder(machine, variant).state(root);
}

}  // namespace hooke::model
