#pragma once
// What happened, as typed events with a fixed field order. The trace is the only thing invariants
// look at, so a simulated run and a real one are judged by the same code; its rolling hash is the
// identity of a run. No pointers, no floats, no unordered containers ever enter it.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::sim {

/// Describes one kind of event. Declared once as an `inline constexpr` object; its address
/// identifies the kind inside a process, its name outside.
struct EventType {
  static constexpr std::size_t kMaxFields = 8;
  std::string_view name;  ///< "rendezvous.completed": noun.verb, lower case
  std::array<std::string_view, kMaxFields> fields{};  ///< names in order; unused ones are empty
  /// For hooke help: what has happened, in a sentence, then the fields that need a word. Empty for
  /// an event that no scenario can wait for.
  std::string_view meaning;

  constexpr EventType(std::string_view event_name, std::initializer_list<std::string_view> names,
                      std::string_view what_it_means = {})
      : name(event_name), meaning(what_it_means) {
    std::size_t i = 0;
    for (const std::string_view field : names) fields[i++] = field;
    field_count = i;
  }
  std::size_t field_count = 0;
};

/// One field: a number or a text. Texts are borrowed: valid during the call that passes them.
class FieldValue {
 public:
  constexpr FieldValue(std::int64_t number) : number_(number) {}   // NOLINT
  constexpr FieldValue(int number) : number_(number) {}            // NOLINT
  constexpr FieldValue(std::uint32_t number) : number_(number) {}  // NOLINT
  constexpr FieldValue(std::uint64_t number)                       // NOLINT
      : number_(static_cast<std::int64_t>(number)) {}
  constexpr FieldValue(bool truth) : number_(truth ? 1 : 0) {}                  // NOLINT
  constexpr FieldValue(std::string_view text) : text_(text), is_text_(true) {}  // NOLINT
  constexpr FieldValue(const char* text) : text_(text), is_text_(true) {}       // NOLINT
  FieldValue(const std::string& text) : text_(text), is_text_(true) {}          // NOLINT
  constexpr FieldValue(Duration span) : number_(span.count()) {}                // NOLINT

  [[nodiscard]] constexpr bool is_text() const { return is_text_; }
  [[nodiscard]] constexpr std::int64_t number() const { return number_; }
  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  std::int64_t number_ = 0;
  std::string_view text_;
  bool is_text_ = false;
};

/// One event as seen by sinks. Everything is borrowed for the duration of the call.
struct Event {
  EventId id{};
  EventId parent{};  ///< the event that caused this one, kNoEvent for a root
  WorldTime at{};    ///< true time since the start of the run
  WallTime wall{};   ///< what the node's wall clock said
  NodeId node{};     ///< kNoNode for the harness
  Pid pid{};         ///< process on that node, 0 for the machine itself
  const EventType* type = nullptr;
  std::span<const FieldValue> fields;

  /// The field named `name`, which must exist in the type.
  [[nodiscard]] const FieldValue& field(std::string_view name) const;
};

/// Where a process reports what it does. Emitting never blocks and never changes behaviour.
class Trace {
 public:
  virtual ~Trace() = default;
  /// Records an event of `type`; as many `fields` as the type declares, in its order.
  virtual EventId emit(const EventType& type, std::initializer_list<FieldValue> fields) = 0;
};

}  // namespace hooke::sim
