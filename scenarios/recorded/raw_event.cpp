// Fields by name.
#include "scenarios/recorded/raw_event.h"

#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

std::size_t index_of(const sim::EventType& type, std::string_view name) {
  std::size_t i = 0;
  while (i < type.field_count && type.fields[i] != name) ++i;
  HOOKE_CHECK(i < type.field_count, "an event type has the field that is asked for");
  return i;
}

}  // namespace

std::int64_t RawEvent::number(std::string_view name) const {
  const auto* number = std::get_if<std::int64_t>(&fields[index_of(*type, name)]);
  return number == nullptr ? 0 : *number;
}

const std::string& RawEvent::text(std::string_view name) const {
  static const std::string none;
  const auto* text = std::get_if<std::string>(&fields[index_of(*type, name)]);
  return text == nullptr ? none : *text;
}

RawEvent::Field& RawEvent::field(std::string_view name) {
  return fields[index_of(*type, name)];
}

std::vector<sim::FieldValue> RawEvent::values() const {
  std::vector<sim::FieldValue> out;
  out.reserve(fields.size());
  for (const Field& field : fields) {
    if (const auto* text = std::get_if<std::string>(&field)) {
      out.emplace_back(*text);
    } else {
      out.emplace_back(std::get<std::int64_t>(field));
    }
  }
  return out;
}

}  // namespace hooke::scenario
