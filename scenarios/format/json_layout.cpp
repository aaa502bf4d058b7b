#include "scenarios/format/json_layout.h"

namespace hooke::scenario {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

/// On one line.
std::string flat(const ordered_json& json) {
  if (!json.is_structured()) return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += ordered_json(key).dump() + ": ";
    text += flat(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// As people write it: on one line what fits there, behind `before` columns; the scenario itself
/// never.
std::string laid_out_at(const ordered_json& json, std::size_t indent, std::size_t before) {
  const std::string line = flat(json);
  if (!json.is_structured() || (indent > 0 && before + line.size() < kColumns)) return line;
  const std::string margin(indent + 2, ' ');
  std::string text;
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_object() ? ordered_json(key).dump() + ": " : "";
    text += (text.empty() ? "\n" : ",\n") + margin + name;
    text += laid_out_at(value, indent + 2, indent + 2 + name.size());
  }
  text += "\n" + std::string(indent, ' ');
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string laid_out(const ordered_json& json) {
  return laid_out_at(json, 0, 0) + "\n";
}

}  // namespace hooke::scenario
