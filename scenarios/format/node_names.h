#pragma once
// The names of a cluster's machines: declared once each, then selected by id, range or role.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/json_reader.h"

namespace hooke::scenario {

inline constexpr std::size_t kNodesMax = 200'000;
/// Stands in place of a store host: a machine of its own outside the job serves the store.
inline constexpr std::string_view kExternalStore = "external";

/// Node ids that a range names: "b..d" (letters) or "n1..n32" (numbers with an equal prefix; with
/// leading zeros, "n01..n32", all get the same width). Empty when the text is no range, counts
/// down, or would name more than kNodesMax ids.
std::vector<std::string> expand_range(const std::string& text);

class NodeNames {
 public:
  enum class Roles : unsigned char { refused, allowed };

  /// The ids that the text at `place` declares: one, or those of a range. ScenarioError when an id
  /// is no plain name, is a role's, stands for the external store, or was declared before.
  std::vector<std::string> declare(const Place& place);
  [[nodiscard]] bool contains(const std::string& id) const { return ids_.contains(id); }
  /// Gives a name to `members`, which are declared: they are selected by it. ScenarioError when
  /// `name`, of the value at `place`, is that of a node, a role or the external store.
  void declare_group(const Place& place, const std::string& name, std::vector<std::string> members);
  /// The nodes that a key names: those of a group or a range, or the key itself, which may be no
  /// node.
  [[nodiscard]] std::vector<std::string> named_by(const std::string& key) const;
  /// The nodes that the text at `place` selects; a role stays a role. ScenarioError for strangers.
  [[nodiscard]] std::vector<std::string> select(const Place& place, Roles roles) const;
  /// The same for a text or an array of them; no node may be named twice.
  [[nodiscard]] std::vector<std::string> select_all(const Place& place, Roles roles) const;
  /// ScenarioError: `id` at `place` is no node, with the nearest name.
  [[noreturn]] void refuse(const Place& place, const std::string& expected, const std::string& id,
                           Roles roles = Roles::refused) const;

 private:
  std::set<std::string> ids_;
  std::map<std::string, std::vector<std::string>> groups_;
};

}  // namespace hooke::scenario
