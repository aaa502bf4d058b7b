#pragma once
// Elements of a page, made with pugixml, which escapes what needs it.

#include <initializer_list>
#include <pugixml.hpp>
#include <string>
#include <utility>

namespace hooke::report {

using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

/// Appends an element to `parent`, with `text` in it unless that is empty.
inline pugi::xml_node add(pugi::xml_node parent, const char* tag, Attributes attributes = {},
                          const std::string& text = {}) {
  pugi::xml_node element = parent.append_child(tag);
  for (const auto& [name, value] : attributes) {
    element.append_attribute(name) = value.c_str();
  }
  if (!text.empty()) element.text() = text.c_str();
  return element;
}

/// Appends an element of one class.
inline pugi::xml_node add_class(pugi::xml_node parent, const char* tag, const std::string& name,
                                const std::string& text = {}) {
  return add(parent, tag, {{"class", name}}, text);
}

/// Appends words between the elements of `parent`.
inline void say(pugi::xml_node parent, const std::string& text) {
  parent.append_child(pugi::node_pcdata).set_value(text.c_str());
}

}  // namespace hooke::report
