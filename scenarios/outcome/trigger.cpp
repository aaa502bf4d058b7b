#include "scenarios/outcome/trigger.h"

#include <charconv>
#include <string>

namespace hooke::scenario {
namespace {

struct Comparison {
  std::string_view sign;  ///< empty: equal
  std::string_view operand;
};

Comparison comparison_of(std::string_view text) {
  for (const std::string_view sign : {">=", "<=", "!=", ">", "<"}) {
    if (!text.starts_with(sign)) continue;
    const std::size_t operand = text.find_first_not_of(' ', sign.size());
    return {sign, operand == std::string_view::npos ? "" : text.substr(operand)};
  }
  return {"", text};
}

/// `*` stands for any characters.
bool fits(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t from = star; from <= text.size(); ++from) {
    if (fits(text.substr(from), rest)) return true;
  }
  return false;
}

/// A field is what a scenario gives for it: numbers in decimal, or compared with one (">= 2").
bool equals(const sim::FieldValue& field, const std::string& text) {
  if (field.is_text()) return fits(field.text(), text);
  const Comparison comparison = comparison_of(text);
  std::int64_t number = 0;
  const char* const end_of_text = comparison.operand.data() + comparison.operand.size();
  const auto end = std::from_chars(comparison.operand.data(), end_of_text, number);
  if (end.ec != std::errc() || end.ptr != end_of_text) return false;
  const std::int64_t got = field.number();
  if (comparison.sign == ">=") return got >= number;
  if (comparison.sign == "<=") return got <= number;
  if (comparison.sign == "!=") return got != number;
  if (comparison.sign == ">") return got > number;
  if (comparison.sign == "<") return got < number;
  return got == number;
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

std::vector<std::string> differences(const Trigger& trigger, const sim::Event& event,
                                     std::string_view node) {
  std::vector<std::string> out;
  if (!trigger.on_node.empty() && trigger.on_node != node) out.push_back("on " + std::string(node));
  const Duration when = event.at.time_since_epoch();
  if (when < trigger.not_before) out.emplace_back("too early");
  if (trigger.not_after && when > *trigger.not_after) out.emplace_back("too late");
  for (const auto& [name, text] : trigger.fields) {
    std::size_t i = 0;
    while (i < event.type->field_count && event.type->fields[i] != name) ++i;
    if (i == event.type->field_count || equals(event.fields[i], text)) continue;
    const sim::FieldValue& field = event.fields[i];
    out.push_back(name + " " +
                  (field.is_text() ? "\"" + std::string(field.text()) + "\""
                                   : std::to_string(field.number())));
  }
  return out;
}

}  // namespace hooke::scenario
