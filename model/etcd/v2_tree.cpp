// Nodes by their whole path; what is below a directory follows it in the map.
#include "model/etcd/v2_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Json = nlohmann::ordered_json;
using Node = EtcdV2Tree::Node;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_below(std::string_view path, const std::string& directory) {
  if (directory == "/") return path.size() > 1;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

Json json_of(const std::string& key, const Node& node, sim::MonotonicTime now) {
  Json out{{"key", key}};
  if (node.is_directory) {
    out["dir"] = true;
  } else {
    out["value"] = node.value;
  }
  if (node.expires) {
    // As etcd counts: the whole seconds that are left, and one.
    out["ttl"] = std::max<std::int64_t>(
        std::chrono::ceil<std::chrono::seconds>(*node.expires - now).count(), std::int64_t{0});
  }
  out["modifiedIndex"] = node.modified;
  out["createdIndex"] = node.created;
  return out;
}

Json listing(const std::map<std::string, Node>& nodes, const std::string& key, const Node& node,
             bool recursive, sim::MonotonicTime now) {
  Json out = key == "/" ? Json{{"dir", true}} : json_of(key, node, now);
  if (!node.is_directory) return out;
  Json children = Json::array();
  const std::string prefix = key == "/" ? "/" : key + "/";
  for (auto child = nodes.lower_bound(prefix);
       child != nodes.end() && child->first.starts_with(prefix); ++child) {
    const std::string_view name = std::string_view(child->first).substr(prefix.size());
    if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with('_')) continue;
    children.push_back(recursive ? listing(nodes, child->first, child->second, true, now)
                                 : json_of(child->first, child->second, now));
  }
  if (!children.empty()) out["nodes"] = std::move(children);
  return out;
}

std::string change_text(const std::string& action, Json node, std::optional<Json> previous) {
  Json out{{"action", action}, {"node", std::move(node)}};
  if (previous) out["prevNode"] = std::move(*previous);
  return out.dump() + "\n";
}

}  // namespace

bool EtcdV2Tree::Change::concerns(const std::string& path, bool recursive) const {
  if (silent) return false;
  if (key == path || (removes && is_below(path, key))) return true;
  return recursive && is_below(key, path);
}

const Node* EtcdV2Tree::find(const std::string& key) const {
  HOOKE_CHECK(!key.empty() && key.front() == '/', "a key begins with a slash");
  static const Node kRoot{true, "", 0, 0, std::nullopt};
  if (key == "/") return &kRoot;
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Node& EtcdV2Tree::require(const std::string& key) const {
  const Node* const found = find(key);
  if (found != nullptr) return *found;
  // etcd names the part of the path that stops it.
  std::string missing = key;
  std::string up = parent_of(key);
  for (; find(up) == nullptr; up = parent_of(up)) missing = up;
  if (!find(up)->is_directory) throw EtcdV2Refusal{400, 104, "Not a directory", up};
  throw EtcdV2Refusal{404, 100, "Key not found", missing};
}

bool EtcdV2Tree::has_children(const std::string& directory) const {
  HOOKE_CHECK(directory != "/", "the root is not asked for its children");
  const auto child = nodes_.lower_bound(directory + "/");
  return child != nodes_.end() && child->first.starts_with(directory + "/");
}

std::string EtcdV2Tree::get(const std::string& key, bool recursive) const {
  const Json body{{"action", "get"},
                  {"node", listing(nodes_, key, require(key), recursive, clock_.monotonic_now())}};
  return body.dump() + "\n";
}

std::string EtcdV2Tree::write(const std::string& action, const std::string& key, Node node,
                              bool silent) {
  for (std::string up = parent_of(key); up != "/"; up = parent_of(up)) {
    const Node* const found = find(up);
    if (found != nullptr && !found->is_directory) {
      throw EtcdV2Refusal{400, 104, "Not a directory", up};
    }
  }
  ++index_;
  for (std::string up = parent_of(key); find(up) == nullptr; up = parent_of(up)) {
    nodes_[up] = {true, "", index_, index_, std::nullopt};
  }
  HOOKE_CHECK(key != "/", "the root is written by none");
  node.modified = index_;
  if (node.created == 0) node.created = index_;
  const sim::MonotonicTime now = clock_.monotonic_now();
  const auto present = nodes_.find(key);
  std::optional<Json> previous;
  if (present != nodes_.end()) previous = json_of(key, present->second, now);
  std::string text = change_text(action, json_of(key, node, now), std::move(previous));
  // A directory's own index stays where it was, although the change has one.
  HOOKE_CHECK(action != "update" || present != nodes_.end(), "only a key that is there is updated");
  if (action == "update" && node.is_directory) node.modified = present->second.modified;
  HOOKE_CHECK(node.modified != 0 && node.created <= index_, "a node has been made and changed");
  if (present != nodes_.end()) forget_expiry(key, present->second);
  if (node.expires) expiries_.emplace(*node.expires, key);
  nodes_[key] = std::move(node);
  record(key, false, silent, text);
  return text;
}

std::string EtcdV2Tree::remove(const std::string& action, const std::string& key) {
  const auto found = nodes_.find(key);
  HOOKE_CHECK(found != nodes_.end(), "only a key that is there is removed");
  const Node before = std::move(found->second);
  forget_expiry(key, before);
  nodes_.erase(found);
  const std::string prefix = key + "/";
  auto below = nodes_.lower_bound(prefix);
  while (below != nodes_.end() && below->first.starts_with(prefix)) {
    forget_expiry(below->first, below->second);
    below = nodes_.erase(below);
  }
  ++index_;
  Json node{{"key", key}};
  if (before.is_directory) node["dir"] = true;
  node["modifiedIndex"] = index_;
  node["createdIndex"] = before.created;
  HOOKE_CHECK(before.created <= index_, "a node that is removed was made before");
  std::string text =
      change_text(action, std::move(node), json_of(key, before, clock_.monotonic_now()));
  record(key, true, false, text);
  return text;
}

void EtcdV2Tree::record(const std::string& key, bool removes, bool silent,
                        const std::string& text) {
  history_.push_back({index_, key, removes, silent, text});
  HOOKE_CHECK(history_.size() < 2 || history_[history_.size() - 2].index < index_,
              "each change has an index of its own");
  if (history_.size() > kHistoryMax) history_.pop_front();
  HOOKE_CHECK(history_.size() <= kHistoryMax, "a history is no longer than etcd keeps");
  changed_();
}

void EtcdV2Tree::forget() {
  while (history_.size() > 1) history_.pop_front();
  HOOKE_CHECK(history_.size() <= 1, "all changes but the last are forgotten");
  forgotten_ = history_.empty() ? 0 : history_.front().index - 1;
}

// ---- expiry -------------------------------------------------------------------------------------

void EtcdV2Tree::forget_expiry(const std::string& key, const Node& node) {
  if (node.expires) expiries_.erase({*node.expires, key});
}

std::optional<sim::MonotonicTime> EtcdV2Tree::next_expiry() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

std::set<EtcdV2Tree::Expiry>::const_iterator EtcdV2Tree::end_of_over(
    sim::MonotonicTime time) const {
  return std::find_if(expiries_.begin(), expiries_.end(),
                      [&](const Expiry& expiry) { return expiry.first > time; });
}

std::size_t EtcdV2Tree::expired(sim::MonotonicTime time) const {
  return static_cast<std::size_t>(std::distance(expiries_.begin(), end_of_over(time)));
}

void EtcdV2Tree::expire(sim::MonotonicTime time) {
  const std::vector<Expiry> ends(expiries_.begin(), end_of_over(time));
  for (const auto& [when, key] : ends) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) continue;  // went with its directory
    HOOKE_CHECK(found->second.expires == when, "a key ends at its own time");
    forget_expiry(key, found->second);
    found->second.expires.reset();
    remove("expire", key);
  }
}

}  // namespace hooke::model
