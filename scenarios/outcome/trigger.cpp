#include "scenarios/outcome/trigger.h"

#include <charconv>
#include <string>

namespace hooke::scenario {
namespace {

/// A field equals the text a scenario gives for it: numbers in decimal.
bool equals(const sim::FieldValue& field, const std::string& text) {
  if (field.is_text()) return field.text() == text;
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && number == field.number();
}

}  // namespace

bool fires(const Trigger& trigger, const sim::Event& event, std::string_view node) {
  if (event.type->name != *trigger.event) return false;
  if (!trigger.on_node.empty() && trigger.on_node != node) return false;
  const Duration when = event.at.time_since_epoch();
  if (when < trigger.not_before || (trigger.not_after && when > *trigger.not_after)) return false;
  for (const auto& [name, text] : trigger.fields) {
    std::size_t i = 0;
    while (i < event.type->field_count && event.type->fields[i] != name) ++i;
    if (i == event.type->field_count || !equals(event.fields[i], text)) return false;
  }
  return true;
}

}  // namespace hooke::scenario
