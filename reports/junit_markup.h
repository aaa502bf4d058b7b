#pragma once
// Elements of JUnit XML, made with pugixml. Every text may hold what a worker or a store has said.

#include <algorithm>
#include <pugixml.hpp>
#include <string>

namespace hooke::report {

/// `text`, in which a question mark stands for each character that XML 1.0 has no way to write.
inline std::string junit_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
      },
      '?');
  return text;
}

/// Appends an attribute.
inline void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = junit_text(value).c_str();
}

/// Appends a property to an element <properties>; none where `value` is empty.
inline void add_property(pugi::xml_node properties, const std::string& name,
                         const std::string& value) {
  if (value.empty()) return;
  pugi::xml_node property = properties.append_child("property");
  set(property, "name", name);
  set(property, "value", value);
}

}  // namespace hooke::report
