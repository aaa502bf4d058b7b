// Nodes by their whole path; what is below a directory follows it in the map.
#include "model/etcd/v2_tree.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/etcd/json_text.h"
#include "model/etcd/v2_answers.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

using Node = EtcdV2Tree::Node;

std::string parent_of(const std::string& path) {
  HOOKE_CHECK(path.starts_with('/'), "a key begins with a slash");
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_below(std::string_view path, const std::string& directory) {
  if (directory == "/") return path.size() > 1;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

/// The indices that end the description of a node.
void append_indices(std::string& out, std::uint64_t modified, std::uint64_t created) {
  out += R"(,"modifiedIndex":)";
  append_json_number(out, modified);
  out += R"(,"createdIndex":)";
  append_json_number(out, created);
}

/// When something is said, and until when it stays true if nothing is changed.
struct Moment {
  sim::MonotonicTime now;
  sim::MonotonicTime until = sim::MonotonicTime::max();
};

/// What is said of a node, without the brace that ends it.
void begin_node(std::string& out, const std::string& key, const Node& node, Moment& moment) {
  out += R"({"key":)";
  append_json_text(out, key);
  if (node.is_directory) {
    out += R"(,"dir":true)";
  } else {
    out += R"(,"value":)";
    append_json_text(out, node.value);
  }
  if (node.expires) {
    // As etcd counts: the whole seconds that are left, and one.
    const auto left = std::max(std::chrono::ceil<std::chrono::seconds>(*node.expires - moment.now),
                               std::chrono::seconds::zero());
    if (left > left.zero()) moment.until = std::min(moment.until, *node.expires - (left - 1s));
    out += R"(,"ttl":)";
    append_json_number(out, left.count());
  }
  append_indices(out, node.modified, node.created);
}

std::string text_of(const std::string& key, const Node& node, sim::MonotonicTime now) {
  std::string out;
  Moment moment{now};
  begin_node(out, key, node, moment);
  return out + "}";
}

/// What a listing of `directory` names, in order: its children but the hidden ones.
template <class Call>
void each_listed(const std::map<std::string, Node>& nodes, const std::string& directory,
                 Call call) {
  const std::string prefix = directory == "/" ? "/" : directory + "/";
  for (auto child = nodes.lower_bound(prefix);
       child != nodes.end() && child->first.starts_with(prefix); ++child) {
    const std::string_view name = std::string_view(child->first).substr(prefix.size());
    if (name.empty() || name.starts_with('_') || name.find('/') != std::string_view::npos) continue;
    call(child->first, child->second);
  }
}

void append_listing(std::string& out, const std::map<std::string, Node>& nodes,
                    const std::string& key, const Node& node, bool recursive, Moment& moment) {
  if (key == "/") {
    out += R"({"dir":true)";
  } else {
    begin_node(out, key, node, moment);
  }
  if (node.is_directory) {
    std::string_view separator = R"(,"nodes":[)";
    each_listed(nodes, key, [&](const std::string& path, const Node& child) {
      out += std::exchange(separator, ",");
      if (recursive) {
        append_listing(out, nodes, path, child, true, moment);
      } else {
        begin_node(out, path, child, moment);
        out += '}';
      }
    });
    if (separator == ",") out += ']';
  }
  out += '}';
}

/// Of JSON texts. `previous`: empty where there was nothing.
std::string change_text(const std::string& action, const std::string& node,
                        const std::string& previous) {
  std::string out = R"({"action":")" + action + R"(","node":)" + node;
  if (!previous.empty()) out += R"(,"prevNode":)" + previous;
  return out + "}\n";
}

}  // namespace

bool EtcdV2Tree::Change::concerns(const std::string& path, bool recursive) const {
  if (silent) return false;
  if (key == path || (removes && is_below(path, key))) return true;
  return recursive && is_below(key, path);
}

const Node* EtcdV2Tree::find(const std::string& key) const {
  HOOKE_CHECK(!key.empty() && key.front() == '/', "a key begins with a slash");
  static const Node kRoot{true, "", 0, 0, std::nullopt, {}};
  if (key == "/") return &kRoot;
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Node& EtcdV2Tree::require(const std::string& key) const {
  const Node* const found = find(key);
  if (found != nullptr) return *found;
  throw refusal_of(key);
}

EtcdV2Refusal EtcdV2Tree::refusal_of(const std::string& key) const {
  HOOKE_CHECK(find(key) == nullptr, "a key that is there is not refused for its absence");
  // etcd names the part of the path that stops it.
  std::string missing = key;
  std::string up = parent_of(key);
  for (; find(up) == nullptr; up = parent_of(up)) missing = up;
  if (!find(up)->is_directory) return {400, 104, "Not a directory", up};
  return {404, 100, "Key not found", missing};
}

bool EtcdV2Tree::has_children(const std::string& directory) const {
  HOOKE_CHECK(directory != "/", "the root is not asked for its children");
  const auto child = nodes_.lower_bound(directory + "/");
  return child != nodes_.end() && child->first.starts_with(directory + "/");
}

std::vector<EtcdV2Tree::Listed> EtcdV2Tree::listed(const std::string& directory) const {
  std::vector<Listed> out;
  each_listed(nodes_, directory, [&](const std::string& key, const Node& node) {
    out.push_back({key, node});
  });
  return out;
}

EtcdV2Tree::Said EtcdV2Tree::get(const std::string& key, bool recursive) const {
  std::string out = R"({"action":"get","node":)";
  Moment moment{clock_.monotonic_now()};
  append_listing(out, nodes_, key, require(key), recursive, moment);
  return {out + "}\n", moment.until};
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
    nodes_[up] = {true, "", index_, index_, std::nullopt, {}};
  }
  HOOKE_CHECK(key != "/", "the root is written by none");
  node.modified = index_;
  if (node.created == 0) node.created = index_;
  const sim::MonotonicTime now = clock_.monotonic_now();
  const auto present = nodes_.find(key);
  std::string previous;
  if (present != nodes_.end()) previous = text_of(key, present->second, now);
  std::string text = change_text(action, text_of(key, node, now), previous);
  // A directory's own index stays where it was, although the change has one.
  HOOKE_CHECK(action != "update" || present != nodes_.end(), "only a key that is there is updated");
  if (action == "update" && node.is_directory) node.modified = present->second.modified;
  HOOKE_CHECK(node.modified != 0 && node.created <= index_, "a node has been made and changed");
  if (present != nodes_.end()) forget_expiry(key, present->second);
  if (node.expires) expiries_.emplace(*node.expires, key);
  node.shared = sim::Value(std::make_shared<StoredText>(node.value));
  nodes_[key] = std::move(node);
  HOOKE_CHECK(expiries_.size() <= nodes_.size(), "a key ends once");
  record(key, false, silent, text);
  return text;
}

std::string EtcdV2Tree::remove(const std::string& action, const std::string& key) {
  HOOKE_CHECK(key != "/", "the root is removed by none");
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
  std::string node = R"({"key":)";
  append_json_text(node, key);
  if (before.is_directory) node += R"(,"dir":true)";
  append_indices(node, index_, before.created);
  node += '}';
  HOOKE_CHECK(before.created <= index_, "a node that is removed was made before");
  std::string text = change_text(action, node, text_of(key, before, clock_.monotonic_now()));
  record(key, true, false, text);
  return text;
}

void EtcdV2Tree::record(const std::string& key, bool removes, bool silent,
                        const std::string& text) {
  history_.push_back({index_, key, removes, silent, told_with(text, *this, key)});
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
  if (!node.expires) return;
  const std::size_t ends = expiries_.erase({*node.expires, key});
  HOOKE_CHECK(ends == 1, "what lives for a time is on the list of ends");
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
  if (time == sim::MonotonicTime::max()) return expiries_.size();
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
