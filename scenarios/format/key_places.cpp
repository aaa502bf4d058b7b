// Walks the schema, which describes every key.
#include "scenarios/format/key_places.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/format/schema.h"

namespace hooke::scenario {
namespace {

/// "/timeline/N" of "/timeline/3".
std::string without_numbers(std::string_view pointer) {
  std::string out;
  while (!pointer.empty()) {
    std::string_view step = pointer.substr(1, pointer.find('/', 1) - 1);
    pointer.remove_prefix(std::min(pointer.size(), step.size() + 1));
    const bool number = !step.empty() && std::all_of(step.begin(), step.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    out += "/" + std::string(number ? "N" : step);
  }
  return out;
}

/// Adds the objects in and below `schema`, which describes what stands at `pointer`, that have `key`.
void collect(const nlohmann::json& schema, const std::string& pointer, const std::string& key,
             std::set<std::string>& out) {
  if (!schema.is_object()) return;
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    if (properties->contains(key)) out.insert(pointer);
    for (const auto& [name, member] : properties->items()) {
      collect(member, pointer + "/" + name, key, out);
    }
  }
  if (schema.contains("items")) collect(schema["items"], pointer + "/N", key, out);
  for (const char* const several : {"anyOf", "oneOf"}) {
    if (!schema.contains(several)) continue;
    for (const nlohmann::json& each : schema[several]) collect(each, pointer, key, out);
  }
}

}  // namespace

std::string where_it_belongs(std::string_view key, std::string_view pointer) {
  static const nlohmann::json schema = nlohmann::json::parse(schema_text());
  std::set<std::string> places;
  collect(schema, "", std::string(key), places);
  if (places.size() != 1 || *places.begin() == without_numbers(pointer)) return "";
  return "; it belongs in " + (places.begin()->empty() ? "the outermost object" : *places.begin());
}

}  // namespace hooke::scenario
