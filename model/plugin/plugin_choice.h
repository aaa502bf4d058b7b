#pragma once
// How a replaceable part is chosen where people write: a name, and options for it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/port/time.h"

namespace hooke::model {

/// "NAME" or "NAME:KEY=VALUE,KEY=VALUE". What reads an option complains with std::invalid_argument
/// that says which option of which choice it was, and what was expected.
struct PluginChoice {
  std::string name;
  std::map<std::string, std::string> options;

  /// std::invalid_argument for an empty name, an option without key or "=", and one given twice.
  static PluginChoice parse(const std::string& text);

  /// Refuses options other than these.
  void allow(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::string text(const std::string& key, const std::string& usual) const;
  /// A whole number from `low` to `high`; `usual` when the option is not given.
  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high,
                                     std::int64_t usual) const;
  /// A whole number with a unit (ns, us, ms, s, m, h), up to a day; "0s" too.
  [[nodiscard]] sim::Duration span(const std::string& key, sim::Duration usual) const;
  /// std::invalid_argument: the option is `got`, which is not what was expected.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;
};

/// A name as messages show it: in quotes, in one line, cut where it is very long.
std::string quoted_name(const std::string& name);

}  // namespace hooke::model
