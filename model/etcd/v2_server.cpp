// The tree and its changes first, then who waits for them, then requests.
#include "model/etcd/v2_server.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;
using Exchange = std::shared_ptr<HttpExchange>;

/// Changes that can still be asked for (etcd keeps as many).
constexpr std::size_t kHistoryMax = 1000;
/// etcd looks for what has expired twice a second.
constexpr sim::Duration kExpiryTick = 500ms;

/// What etcd refuses, as it says it.
struct Refusal {
  int status;
  int code;
  const char* message;
  std::string cause;
};

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_below(std::string_view path, const std::string& directory) {
  if (directory == "/") return path.size() > 1;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

/// "/a//b/" is "/a/b".
std::string cleaned(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) out += "/" + std::string(part);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return out.empty() ? "/" : out;
}

bool is_set(const HttpQuery& query, const char* name) {
  const auto found = query.parameters.find(name);
  return found != query.parameters.end() && (found->second == "true" || found->second == "1");
}

const std::string* parameter(const HttpQuery& query, const char* name) {
  const auto found = query.parameters.find(name);
  return found == query.parameters.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

class EtcdV2Server::Tree : public std::enable_shared_from_this<Tree> {
 public:
  explicit Tree(sim::Ports& ports) : ports_(ports), sooner_(ports.executor) {}

  void handle(const Exchange& exchange);
  /// Ends what has expired, until closed.
  void expire_for_ever();
  void close() {
    closed_ = true;
    sooner_.wake_all();
  }
  /// What /v2/machines says.
  std::string machines;

 private:
  struct Node {
    bool is_directory = false;
    std::string value;
    std::uint64_t created = 0;
    std::uint64_t modified = 0;
    std::optional<sim::MonotonicTime> expires;
  };
  using Entry = std::map<std::string, Node>::iterator;
  struct Change {
    std::uint64_t index;
    std::string key;
    bool removes;  ///< delete or expire: waiters below it hear of it too
    bool silent;   ///< a refresh
    std::string text;
  };
  struct Waiter {
    Exchange exchange;
    std::string key;
    bool recursive;
  };

  [[nodiscard]] Json json_of(const std::string& key, const Node& node) const;
  [[nodiscard]] Json listing(const std::string& key, const Node& node, bool recursive) const;
  Entry require(const std::string& key);
  void make_parents(const std::string& key);
  void set_ttl(Node& node, const std::string* ttl);
  void record(const std::string& action, const std::string& key, const Json& document,
              bool silent = false);
  void forget_below(const std::string& key);
  static bool concerns(const Change& change, const std::string& key, bool recursive);
  void check_previous(const Node& node, const std::string* value, const std::string* index);

  std::pair<int, std::string> get(const HttpQuery& query, const std::string& key);
  std::pair<int, std::string> put(const HttpQuery& query, const std::string& key);
  std::pair<int, std::string> post(const HttpQuery& query, const std::string& key);
  std::pair<int, std::string> remove(const HttpQuery& query, const std::string& key);
  void watch(const Exchange& exchange, const std::string& key);
  std::pair<int, std::string> write(const std::string& action, const std::string& key, Node node,
                                    const std::optional<Node>& before);
  [[nodiscard]] HttpHeaders headers() const {
    return {{"X-Etcd-Index", std::to_string(index_)},
            {"X-Raft-Index", std::to_string(index_)},
            {"X-Raft-Term", "2"}};
  }
  void expire_now();
  [[nodiscard]] std::optional<sim::MonotonicTime> next_expiry() const;

  sim::Ports& ports_;
  std::map<std::string, Node> nodes_;
  std::uint64_t index_ = 3;  ///< a fresh etcd has written its own membership
  std::deque<Change> history_;
  std::vector<Waiter> waiters_;
  sim::WaitQueue sooner_;  ///< the expiry fiber, when there may be less to wait for
  bool closed_ = false;
};

// ---- the tree and its changes -------------------------------------------------------------------

Json EtcdV2Server::Tree::json_of(const std::string& key, const Node& node) const {
  Json out{{"key", key}};
  if (node.is_directory) {
    out["dir"] = true;
  } else {
    out["value"] = node.value;
  }
  if (node.expires) {
    const sim::Duration left = *node.expires - ports_.clock.monotonic_now();
    // As etcd counts: the whole seconds that are left, and one.
    out["ttl"] = std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(left).count(),
                                        std::int64_t{0});
  }
  out["modifiedIndex"] = node.modified;
  out["createdIndex"] = node.created;
  return out;
}

Json EtcdV2Server::Tree::listing(const std::string& key, const Node& node, bool recursive) const {
  Json out = key == "/" ? Json{{"dir", true}} : json_of(key, node);
  if (key != "/" && !node.is_directory) return out;
  Json children = Json::array();
  const std::string prefix = key == "/" ? "/" : key + "/";
  for (auto child = nodes_.lower_bound(prefix);
       child != nodes_.end() && child->first.starts_with(prefix); ++child) {
    const std::string_view name = std::string_view(child->first).substr(prefix.size());
    if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with('_')) continue;
    children.push_back(recursive ? listing(child->first, child->second, true)
                                 : json_of(child->first, child->second));
  }
  if (!children.empty()) out["nodes"] = std::move(children);
  return out;
}

EtcdV2Server::Tree::Entry EtcdV2Server::Tree::require(const std::string& key) {
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) {
    // etcd names the part of the path that stops it.
    std::string missing = key;
    std::string up = parent_of(key);
    for (; up != "/" && !nodes_.contains(up); up = parent_of(up)) missing = up;
    if (up != "/" && !nodes_.at(up).is_directory) throw Refusal{400, 104, "Not a directory", up};
    throw Refusal{404, 100, "Key not found", missing};
  }
  return found;
}

void EtcdV2Server::Tree::make_parents(const std::string& key) {
  for (std::string up = parent_of(key); up != "/"; up = parent_of(up)) {
    const auto found = nodes_.find(up);
    if (found != nodes_.end() && !found->second.is_directory) {
      throw Refusal{400, 104, "Not a directory", up};
    }
  }
  for (std::string up = parent_of(key); up != "/" && !nodes_.contains(up); up = parent_of(up)) {
    nodes_[up] = {true, "", index_ + 1, index_ + 1, std::nullopt};
  }
}

void EtcdV2Server::Tree::set_ttl(Node& node, const std::string* ttl) {
  if (ttl == nullptr || ttl->empty()) {
    node.expires.reset();
    return;
  }
  const auto seconds = number_of(*ttl);
  if (!seconds || *seconds > 1'000'000'000) {
    throw Refusal{400, 202, "The given TTL in POST form is not a number",
                  R"(invalid value for "ttl")"};
  }
  node.expires = ports_.clock.monotonic_now() + std::chrono::seconds(*seconds);
  sooner_.wake_all();
}

void EtcdV2Server::Tree::record(const std::string& action, const std::string& key,
                                const Json& document, bool silent) {
  Json event{{"action", action}};
  event.update(document);
  history_.push_back({index_, key,
                      action == "delete" || action == "expire" || action == "compareAndDelete",
                      silent, event.dump() + "\n"});
  if (history_.size() > kHistoryMax) history_.pop_front();
  const Change change = history_.back();
  std::vector<Exchange> told;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (waiter.exchange->gone()) return true;
    if (!concerns(change, waiter.key, waiter.recursive)) return false;
    told.push_back(waiter.exchange);
    return true;
  });
  for (const Exchange& exchange : told) exchange->finish(change.text);
}

bool EtcdV2Server::Tree::concerns(const Change& change, const std::string& key, bool recursive) {
  if (change.silent) return false;
  if (change.key == key || (change.removes && is_below(key, change.key))) return true;
  return recursive && is_below(change.key, key);
}

void EtcdV2Server::Tree::forget_below(const std::string& key) {
  const std::string prefix = key + "/";
  auto child = nodes_.lower_bound(prefix);
  while (child != nodes_.end() && child->first.starts_with(prefix)) child = nodes_.erase(child);
}

// ---- expiry -------------------------------------------------------------------------------------

std::optional<sim::MonotonicTime> EtcdV2Server::Tree::next_expiry() const {
  std::optional<sim::MonotonicTime> out;
  for (const auto& [key, node] : nodes_) {
    if (node.expires && (!out || *node.expires < *out)) out = node.expires;
  }
  return out;
}

void EtcdV2Server::Tree::expire_for_ever() {
  while (!closed_) {
    const auto next = next_expiry();
    if (!next) {
      static_cast<void>(sooner_.wait());
      continue;
    }
    const sim::Duration span = next->time_since_epoch();
    const sim::Duration ticks = (span + kExpiryTick - 1ns) / kExpiryTick * kExpiryTick;
    if (sooner_.wait(sim::MonotonicTime(ticks)) == sim::Wake::timed_out) expire_now();
  }
}

void EtcdV2Server::Tree::expire_now() {
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  std::vector<std::pair<sim::MonotonicTime, std::string>> over;
  for (const auto& [key, node] : nodes_) {
    if (node.expires && *node.expires <= now) over.emplace_back(*node.expires, key);
  }
  std::sort(over.begin(), over.end());
  for (const auto& [when, key] : over) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) continue;  // went with its directory
    Node before = found->second;
    before.expires.reset();
    nodes_.erase(found);
    forget_below(key);
    ++index_;
    Json node{{"key", key}};
    if (before.is_directory) node["dir"] = true;
    node["modifiedIndex"] = index_;
    node["createdIndex"] = before.created;
    record("expire", key, {{"node", node}, {"prevNode", json_of(key, before)}});
  }
}

// ---- requests -----------------------------------------------------------------------------------

void EtcdV2Server::Tree::handle(const Exchange& exchange) {
  const HttpQuery& query = exchange->query();
  const std::string prefix = "/v2/keys";
  if (query.path == "/v2/machines") {
    return exchange->answer(200, machines, {{"Content-Type", "text/plain"}});
  }
  if (query.path == "/version") {
    return exchange->answer(200, R"({"etcdserver":"3.4.0","etcdcluster":"3.4.0"})");
  }
  if (query.path == "/health") return exchange->answer(200, R"({"health":"true"})");
  const bool is_key = query.path.starts_with(prefix) &&
                      (query.path.size() == prefix.size() || query.path[prefix.size()] == '/');
  if (!is_key) {
    return exchange->answer(404, "404 page not found\n", {{"Content-Type", "text/plain"}});
  }
  const std::string key = cleaned(std::string_view(query.path).substr(prefix.size()));
  expire_now();
  try {
    if (query.method == "GET" && is_set(query, "wait")) return watch(exchange, key);
    std::pair<int, std::string> answer;
    if (query.method == "GET") {
      answer = get(query, key);
    } else if (query.method == "PUT") {
      answer = put(query, key);
    } else if (query.method == "POST") {
      answer = post(query, key);
    } else if (query.method == "DELETE") {
      answer = remove(query, key);
    } else {
      return exchange->answer(405, "Method Not Allowed\n", {{"Content-Type", "text/plain"}});
    }
    exchange->answer(answer.first, answer.second, headers());
  } catch (const Refusal& refusal) {
    const Json body{{"errorCode", refusal.code},
                    {"message", refusal.message},
                    {"cause", refusal.cause},
                    {"index", index_}};
    exchange->answer(refusal.status, body.dump() + "\n", headers());
  }
}

std::pair<int, std::string> EtcdV2Server::Tree::get(const HttpQuery& query,
                                                    const std::string& key) {
  static const Node kRoot{true, "", 0, 0, std::nullopt};
  const Node& node = key == "/" ? kRoot : require(key)->second;
  const Json body{{"action", "get"}, {"node", listing(key, node, is_set(query, "recursive"))}};
  return {200, body.dump() + "\n"};
}

void EtcdV2Server::Tree::check_previous(const Node& node, const std::string* value,
                                        const std::string* index) {
  const auto wanted = index == nullptr ? std::optional<std::uint64_t>(0) : number_of(*index);
  if (!wanted) {
    throw Refusal{400, 203, "The given index in POST form is not a number",
                  R"(invalid value for "prevIndex")"};
  }
  const bool value_holds = value == nullptr || *value == node.value;
  const bool index_holds = index == nullptr || *wanted == node.modified;
  if (value_holds && index_holds) return;
  std::string cause;
  if (!value_holds) cause = "[" + *value + " != " + node.value + "]";
  if (!index_holds) {
    cause += (cause.empty() ? "[" : " [") + std::to_string(*wanted) +
             " != " + std::to_string(node.modified) + "]";
  }
  throw Refusal{412, 101, "Compare failed", cause};
}

std::pair<int, std::string> EtcdV2Server::Tree::write(const std::string& action,
                                                      const std::string& key, Node node,
                                                      const std::optional<Node>& before) {
  make_parents(key);
  ++index_;
  node.modified = index_;
  if (node.created == 0) node.created = index_;
  nodes_[key] = node;
  Json document{{"node", json_of(key, node)}};
  if (before) document["prevNode"] = json_of(key, *before);
  Json body{{"action", action}};
  body.update(document);
  record(action, key, document);
  return {before && action != "create" ? 200 : 201, body.dump() + "\n"};
}

std::pair<int, std::string> EtcdV2Server::Tree::put(const HttpQuery& query,
                                                    const std::string& key) {
  if (key == "/") throw Refusal{403, 107, "Root is read only", "/"};
  const std::string* const value = parameter(query, "value");
  const std::string* const ttl = parameter(query, "ttl");
  const std::string* const previous_value = parameter(query, "prevValue");
  const std::string* const previous_index = parameter(query, "prevIndex");
  const std::string* const previous_exists = parameter(query, "prevExist");
  const bool is_directory = is_set(query, "dir");
  const auto found = nodes_.find(key);
  const std::optional<Node> before =
      found == nodes_.end() ? std::nullopt : std::optional(found->second);
  Node node;
  node.is_directory = is_directory;
  if (!is_directory && value != nullptr) node.value = *value;
  if ((previous_value != nullptr && !previous_value->empty()) || previous_index != nullptr) {
    const Node& present = require(key)->second;
    if (present.is_directory) throw Refusal{403, 102, "Not a file", key};
    check_previous(present, previous_value, previous_index);
    node.created = present.created;
    set_ttl(node, ttl);
    return write("compareAndSwap", key, node, before);
  }
  if (previous_exists != nullptr && *previous_exists == "false") {
    if (before) throw Refusal{412, 105, "Key already exists", key};
    set_ttl(node, ttl);
    return write("create", key, node, before);
  }
  if (previous_exists != nullptr && *previous_exists == "true") {
    const Node& present = require(key)->second;
    if (present.is_directory && value != nullptr && !value->empty()) {
      throw Refusal{403, 102, "Not a file", key};
    }
    node.is_directory = present.is_directory;
    node.created = present.created;
    // A directory's own index stays, although the change has one.
    const std::uint64_t kept = present.modified;
    const auto keep_index = [&] {
      if (before->is_directory) nodes_[key].modified = kept;
    };
    if (!is_set(query, "refresh")) {
      set_ttl(node, ttl);
      auto answer = write("update", key, node, before);
      keep_index();
      return answer;
    }
    if (value != nullptr) {
      throw Refusal{400, 212, "Value provided on refresh", "A value was provided on a refresh"};
    }
    node.value = present.value;
    set_ttl(node, ttl);
    ++index_;
    node.modified = index_;
    nodes_[key] = node;
    const Json document{{"node", json_of(key, node)}, {"prevNode", json_of(key, *before)}};
    Json body{{"action", "update"}};
    body.update(document);
    record("update", key, document, true);
    keep_index();
    return {200, body.dump() + "\n"};
  }
  if (before && before->is_directory) throw Refusal{403, 102, "Not a file", key};
  set_ttl(node, ttl);
  return write("set", key, node, before);
}

std::pair<int, std::string> EtcdV2Server::Tree::post(const HttpQuery& query,
                                                     const std::string& key) {
  std::string digits = std::to_string(index_ + 1);
  digits.insert(0, 20 - std::min<std::size_t>(20, digits.size()), '0');
  Node node;
  const std::string* const value = parameter(query, "value");
  if (value != nullptr) node.value = *value;
  set_ttl(node, parameter(query, "ttl"));
  return write("create", (key == "/" ? "" : key) + "/" + digits, node, std::nullopt);
}

std::pair<int, std::string> EtcdV2Server::Tree::remove(const HttpQuery& query,
                                                       const std::string& key) {
  if (key == "/") throw Refusal{403, 107, "Root is read only", "/"};
  const auto found = require(key);
  const Node before = found->second;
  const std::string* const previous_value = parameter(query, "prevValue");
  const std::string* const previous_index = parameter(query, "prevIndex");
  const bool compares = previous_value != nullptr || previous_index != nullptr;
  const bool recursive = is_set(query, "recursive");
  if (before.is_directory) {
    if (compares || (!is_set(query, "dir") && !recursive)) {
      throw Refusal{403, 102, "Not a file", key};
    }
    const auto child = nodes_.lower_bound(key + "/");
    const bool is_empty = child == nodes_.end() || !child->first.starts_with(key + "/");
    if (!is_empty && !recursive) throw Refusal{403, 108, "Directory not empty", key};
  }
  if (compares) check_previous(before, previous_value, previous_index);
  nodes_.erase(found);
  forget_below(key);
  ++index_;
  Json node{{"key", key}};
  if (before.is_directory) node["dir"] = true;
  node["modifiedIndex"] = index_;
  node["createdIndex"] = before.created;
  const Json document{{"node", node}, {"prevNode", json_of(key, before)}};
  const char* const action = compares ? "compareAndDelete" : "delete";
  Json body{{"action", action}};
  body.update(document);
  record(action, key, document);
  return {200, body.dump() + "\n"};
}

void EtcdV2Server::Tree::watch(const Exchange& exchange, const std::string& key) {
  const bool recursive = is_set(exchange->query(), "recursive");
  const std::string* const text = parameter(exchange->query(), "waitIndex");
  const auto since = text == nullptr ? std::optional<std::uint64_t>(0) : number_of(*text);
  if (!since) {
    throw Refusal{400, 203, "The given index in POST form is not a number",
                  R"(invalid value for "waitIndex")"};
  }
  if (*since > 0 && !history_.empty() && *since < history_.front().index &&
      history_.size() == kHistoryMax) {
    throw Refusal{400, 401, "The event in requested index is outdated and cleared",
                  "the requested history has been cleared [" +
                      std::to_string(history_.front().index) + "/" + std::to_string(*since) + "]"};
  }
  exchange->begin(200, headers());
  if (*since > 0) {
    for (const Change& change : history_) {
      if (change.index >= *since && concerns(change, key, recursive)) {
        return exchange->finish(change.text);
      }
    }
  }
  waiters_.push_back({exchange, key, recursive});
}

// ---- its life -----------------------------------------------------------------------------------

EtcdV2Server::EtcdV2Server(sim::Ports& ports, sim::PortNumber port)
    : ports_(ports), tree_(std::make_shared<Tree>(ports)) {
  service_ = std::make_unique<HttpService>(
      ports, port, [tree = tree_](const Exchange& exchange) { tree->handle(exchange); });
  tree_->machines =
      "http://" + ports.network.host_name() + ":" + std::to_string(service_->port().value);
  ports.executor.spawn("etcd expiry", [tree = tree_] { tree->expire_for_ever(); });
}

EtcdV2Server::~EtcdV2Server() {
  tree_->close();
}

sim::PortNumber EtcdV2Server::port() const {
  return service_->port();
}

}  // namespace hooke::model
