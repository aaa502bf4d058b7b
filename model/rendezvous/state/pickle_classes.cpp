// The classes a state is made of, and what making an instance of each means. Nothing else has a
// name here, so nothing else can be made.
#include <array>

#include "model/rendezvous/state/pickle_machine.h"
#include "model/rendezvous/state/pickle_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::string_view kRendezvous = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::size_t kDatetimeBytes = 10;
/// Of what Python raises for arguments that a class does not take.
constexpr const char* kTypeError = "TypeError";

struct KnownClass {
  std::string_view module, name;
  PickleKind kind;
};

/// Python 2 called builtins __builtin__ and copyreg copy_reg; protocols 0 to 2 still do.
constexpr std::array<KnownClass, 18> kKnown{{
    {kRendezvous, "_RendezvousState", PickleKind::state_class},
    {kRendezvous, "_NodeDesc", PickleKind::node_class},
    {"datetime", "datetime", PickleKind::datetime_class},
    {"datetime", "timezone", PickleKind::timezone_class},
    {"datetime", "timedelta", PickleKind::timedelta_class},
    {"builtins", "set", PickleKind::set_class},
    {"builtins", "frozenset", PickleKind::set_class},
    {"builtins", "list", PickleKind::list_class},
    {"builtins", "dict", PickleKind::dict_class},
    {"builtins", "object", PickleKind::object_class},
    {"__builtin__", "set", PickleKind::set_class},
    {"__builtin__", "frozenset", PickleKind::set_class},
    {"__builtin__", "list", PickleKind::list_class},
    {"__builtin__", "dict", PickleKind::dict_class},
    {"__builtin__", "object", PickleKind::object_class},
    {"copyreg", "_reconstructor", PickleKind::reconstructor},
    {"copy_reg", "_reconstructor", PickleKind::reconstructor},
    {"_codecs", "encode", PickleKind::latin1_encoder},
}};

}  // namespace

void PickleMachine::global(std::string_view module, std::string_view name) {
  for (const KnownClass& known : kKnown) {
    if (known.module == module && known.name == name) {
      push(known.kind);
      return;
    }
  }
  // What other modules have, Python would load.
  refuse(
      "a class of the rendezvous state",
      quoted_for_message(std::string(module) + "." + std::string(name)) + ", which is not loaded",
      module == kRendezvous ? "AttributeError" : nullptr);
}

void PickleMachine::new_object() {
  const PickleObject& arguments = object(pop());
  const PickleObject& cls = object(pop());
  if (arguments.kind != Kind::tuple || arguments.size != 0) {
    refuse("an empty tuple of arguments", arguments);
  }
  switch (cls.kind) {
    case Kind::state_class: push(Kind::state); return;
    case Kind::node_class: push(Kind::node); return;
    default: refuse("the class of a state or a node", cls);
  }
}

void PickleMachine::reduce() {
  const PickleObject arguments = object(pop());
  const PickleObject callable = object(pop());
  if (arguments.kind != Kind::tuple) refuse("a tuple of arguments", arguments);
  const std::span<const PickleIndex> list = items(arguments);
  switch (callable.kind) {
    case Kind::datetime_class: return construct_datetime(list);
    case Kind::timedelta_class: return construct_timedelta(list);
    case Kind::timezone_class: return construct_timezone(list);
    case Kind::set_class: return construct_set(list);
    case Kind::reconstructor: return reconstruct(list);
    case Kind::latin1_encoder: return encode_latin1(list);
    case Kind::list_class:
    case Kind::dict_class:
      if (!list.empty()) refuse("no arguments", std::to_string(list.size()));
      push(callable.kind == Kind::list_class ? Kind::list : Kind::dict);
      return;
    default: refuse("a class that can be called", callable, kTypeError);
  }
}

/// An attribute given again replaces the former value: readers take the last.
void PickleMachine::build() {
  const PickleIndex given = pop();
  const PickleIndex target = top();
  const Kind kind = object(target).kind;
  if (kind != Kind::state && kind != Kind::node)
    refuse("a state or a node to fill", object(target));
  std::array<PickleIndex, 2> dicts{given, 0};
  if (object(given).kind == Kind::tuple && object(given).size == 2) {
    // Attributes kept in slots come second.
    dicts = {items(object(given))[0], items(object(given))[1]};
  }
  if (object(dicts[0]).kind == Kind::none) std::swap(dicts[0], dicts[1]);
  for (const PickleIndex dict : dicts) {
    if (object(dict).kind == Kind::dict) {
      copy_items(dict, target);
    } else if (dict == dicts[0] || object(dict).kind != Kind::none) {
      refuse("a dict of attributes", object(dict));
    }
  }
}

void PickleMachine::construct_datetime(std::span<const PickleIndex> arguments) {
  if (arguments.empty() || arguments.size() > 2) {
    refuse("one or two arguments of datetime", std::to_string(arguments.size()), kTypeError);
  }
  const PickleObject& packed = object(arguments[0]);
  const PickleIndex zone = arguments.size() == 2 ? arguments[1] : 0;
  if (packed.kind != Kind::bytes && packed.kind != Kind::text) {
    refuse("the ten bytes of a datetime", packed, kTypeError);
  }
  std::string_view bytes = text(packed);
  if (packed.kind == Kind::text && bytes.size() <= 2 * kDatetimeBytes && !is_ascii(bytes)) {
    bytes = keep(latin1(bytes));
  }
  if (bytes.size() != kDatetimeBytes) {
    refuse("the ten bytes of a datetime", std::to_string(bytes.size()), kTypeError);
  }
  if (zone != 0 && object(zone).kind != Kind::timezone)
    refuse("a timezone", object(zone), kTypeError);
  HOOKE_CHECK(zone < objects_.size(), "a zone is an object");
  push_text(Kind::datetime, bytes);
  objects_.back().zone = zone;
}

void PickleMachine::construct_timedelta(std::span<const PickleIndex> arguments) {
  std::array<std::int64_t, 3> parts{};  // days, seconds, microseconds
  if (arguments.size() > parts.size()) {
    refuse("at most three arguments of timedelta", std::to_string(arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const PickleObject& part = object(arguments[i]);
    if (part.kind != Kind::integer) refuse("a whole number of a timedelta", part);
    if (part.number > kMicrosecondsPerSecond || part.number < -kMicrosecondsPerSecond) {
      refuse("a part of an offset below a day", std::to_string(part.number));
    }
    parts[i] = part.number;
  }
  const std::int64_t offset =
      (parts[0] * kSecondsPerDay + parts[1]) * kMicrosecondsPerSecond + parts[2];
  push(Kind::timedelta, offset);
}

void PickleMachine::construct_timezone(std::span<const PickleIndex> arguments) {
  if (arguments.size() != 1) refuse("one argument of timezone", std::to_string(arguments.size()));
  const PickleObject& offset = object(arguments[0]);
  if (offset.kind != Kind::timedelta) refuse("a timedelta", offset, kTypeError);
  constexpr std::int64_t kDay = kSecondsPerDay * kMicrosecondsPerSecond;
  if (offset.number <= -kDay || offset.number >= kDay) {
    refuse("an offset below a day", std::to_string(offset.number) + " microseconds");
  }
  push(Kind::timezone, offset.number);
}

void PickleMachine::construct_set(std::span<const PickleIndex> arguments) {
  if (arguments.size() > 1)
    refuse("one argument of set", std::to_string(arguments.size()), kTypeError);
  if (arguments.empty()) {
    push(Kind::set);
    return;
  }
  const PickleIndex members = arguments[0];
  const Kind kind = object(members).kind;
  if (kind != Kind::list && kind != Kind::tuple && kind != Kind::set) {
    refuse("a list of the members of a set", object(members));
  }
  push(Kind::set);
  copy_items(members, stack_.back());
}

void PickleMachine::reconstruct(std::span<const PickleIndex> arguments) {
  if (arguments.size() != 3) {
    refuse("three arguments of _reconstructor", std::to_string(arguments.size()));
  }
  const PickleObject& cls = object(arguments[0]);
  if (object(arguments[1]).kind != Kind::object_class) {
    refuse("class object as the base", object(arguments[1]));
  }
  if (object(arguments[2]).kind != Kind::none) refuse("no base state", object(arguments[2]));
  switch (cls.kind) {
    case Kind::state_class: push(Kind::state); return;
    case Kind::node_class: push(Kind::node); return;
    default: refuse("the class of a state or a node", cls);
  }
}

void PickleMachine::encode_latin1(std::span<const PickleIndex> arguments) {
  if (arguments.size() != 2) refuse("two arguments of encode", std::to_string(arguments.size()));
  const PickleObject& source = object(arguments[0]);
  const PickleObject& codec = object(arguments[1]);
  if (source.kind != Kind::text) refuse("a text to encode", source);
  if (codec.kind != Kind::text || (text(codec) != "latin1" && text(codec) != "latin-1")) {
    refuse("the codec latin1", codec);
  }
  spend(source.size);
  push_text(Kind::bytes, keep(latin1(text(source))));
}

std::string PickleMachine::latin1(std::string_view utf8) const {
  auto bytes = latin1_from_utf8(utf8);
  if (!bytes) refuse("characters up to U+00FF", quoted_for_message(utf8));
  return std::move(*bytes);
}

}  // namespace hooke::model
