// Requests, and the clients that wait for a change.
#include "model/etcd/v2_server.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/etcd/v2_answers.h"
#include "model/etcd/v2_parameters.h"
#include "model/etcd/v2_tree.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Exchange = std::shared_ptr<HttpExchange>;
using Refusal = EtcdV2Refusal;
using Node = EtcdV2Tree::Node;
using Mode = EtcdMisbehaviour::Mode;

/// etcd looks for what has expired twice a second.
constexpr sim::Duration kExpiryTick = 500ms;

}  // namespace

class EtcdV2Server::Service : public std::enable_shared_from_this<Service> {
 public:
  Service(sim::Ports& ports, std::shared_ptr<EtcdMisbehaviour> misbehaviour)
      : ports_(ports),
        misbehaviour_(std::move(misbehaviour)),
        tree_(ports.clock, [this] { changed(); }),
        sooner_(ports.executor) {
    misbehaviour_->observe([this] { look_at_modes(); });
    look_at_modes();
  }

  void handle(const Exchange& exchange);
  /// Ends what has expired, until closed.
  void expire_for_ever();
  void close() {
    misbehaviour_->observe(nullptr);
    HOOKE_CHECK(!closed_, "a service is closed once");
    closed_ = true;
    sooner_.wake_all();
  }
  /// What /v2/machines says.
  std::string machines;

 private:
  struct Waiter {
    Exchange exchange;
    std::string key;
    bool recursive;
    std::uint64_t since;  ///< the first change it has not heard of
  };
  struct Answer {
    int status;
    std::string body;
  };
  /// Frequent refusals are returned: an exception costs 36,000 instructions.
  Answer told(const Refusal& no) { return {no.status, told_refusal(no, tree_.index()).bytes()}; }
  void read(const Exchange& exchange, const std::string& key, bool agreed);
  Answer put(const HttpQuery& query, const std::string& key);
  Answer post(const HttpQuery& query, const std::string& key);
  Answer remove(const HttpQuery& query, const std::string& key);
  void watch(const Exchange& exchange, const std::string& key);
  /// The first change at or after `since` that they hear of; null when there is none yet.
  [[nodiscard]] const EtcdV2Tree::Change* next_for(const std::string& key, bool recursive,
                                                   std::uint64_t since) const;
  void changed();
  /// Tells the clients that wait.
  void tell();
  void expire();
  /// The modes may have changed.
  void look_at_modes();
  void set_ttl(Node& node, const std::string* ttl);
  /// A read is about to be answered from the old tree.
  void read_stale();
  /// Of what reads see.
  [[nodiscard]] std::uint64_t seen_index() const { return (stale_ ? *stale_ : tree_).index(); }
  const HttpHeaders& headers() { return answers_.headers(seen_index()); }

  sim::Ports& ports_;
  std::shared_ptr<EtcdMisbehaviour> misbehaviour_;
  EtcdV2Tree tree_;
  std::optional<EtcdV2Tree> stale_;  ///< what reads see, when that is an old tree
  bool told_stale_ = false;          ///< the trace knows that a client has seen it
  std::vector<Waiter> waiters_;
  std::uint64_t told_up_to_ = 0;  ///< the last change that all of them have been looked at for
  std::size_t waiters_told_ = 0;  ///< how many waited on then
  std::set<std::uint64_t> told_twice_;
  EtcdV2Answers answers_;
  sim::WaitQueue sooner_;  ///< the expiry fiber, when there may be something to do
  bool closed_ = false;
};

void EtcdV2Server::Service::handle(const Exchange& exchange) {
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
  HOOKE_CHECK(key.front() == '/', "a key begins with a slash");
  expire();
  try {
    if (query.method == "GET" && is_set(query, "wait")) return watch(exchange, key);
    const bool agreed = query.method != "GET" || is_set(query, "quorum");
    if (agreed && misbehaviour_->strikes(Mode::leader_loss)) {
      throw Refusal{500, 300, "Raft Internal Error",
                    "etcdserver: request timed out, possibly due to previous leader failure"};
    }
    if (query.method == "GET") return read(exchange, key, agreed);
    const std::uint64_t before = tree_.index();
    Answer answer;
    if (query.method == "PUT") {
      answer = put(query, key);
    } else if (query.method == "POST") {
      answer = post(query, key);
    } else if (query.method == "DELETE") {
      answer = remove(query, key);
    } else {
      return exchange->answer(405, "Method Not Allowed\n", {{"Content-Type", "text/plain"}});
    }
    if (tree_.index() != before && misbehaviour_->strikes(Mode::unknown_outcome)) {
      throw Refusal{500, 300, "Raft Internal Error", "etcdserver: request timed out"};
    }
    // Where other changes have followed, the tree does not say what the answer does.
    exchange->answer(answer.status,
                     tree_.index() == before + 1 ? told_with(std::move(answer.body), tree_, key)
                                                 : sim::Value(std::move(answer.body)),
                     headers());
  } catch (const Refusal& refusal) {
    exchange->answer(refusal.status, told_refusal(refusal, tree_.index()), headers());
  }
}

// ---- reads --------------------------------------------------------------------------------------

void EtcdV2Server::Service::read(const Exchange& exchange, const std::string& key, bool agreed) {
  const bool recursive = is_set(exchange->query(), "recursive");
  if (!stale_ || agreed || stale_->index() == tree_.index()) {
    const sim::MonotonicTime now = ports_.clock.monotonic_now();
    const EtcdV2Answers::Answer& answer = answers_.get(tree_, key, recursive, now);
    return exchange->answer(answer.status, answer.body, headers());
  }
  read_stale();
  exchange->answer(200, told_with(stale_->get(key, recursive).text, *stale_, key), headers());
}

// ---- writes -------------------------------------------------------------------------------------

void EtcdV2Server::Service::set_ttl(Node& node, const std::string* ttl) {
  if (ttl == nullptr || ttl->empty()) return;
  const auto seconds = number_of(*ttl);
  if (!seconds || *seconds > 1'000'000'000) {
    throw Refusal{400, 202, "The given TTL in POST form is not a number",
                  R"(invalid value for "ttl")"};
  }
  HOOKE_CHECK(!node.expires, "a time to live is set once");
  node.expires = ports_.clock.monotonic_now() + std::chrono::seconds(*seconds);
  sooner_.wake_all();
}

EtcdV2Server::Service::Answer EtcdV2Server::Service::put(const HttpQuery& query,
                                                         const std::string& key) {
  if (key == "/") throw Refusal{403, 107, "Root is read only", "/"};
  const std::string* const value = parameter(query, "value");
  const std::string* const ttl = parameter(query, "ttl");
  const std::string* const previous_value = parameter(query, "prevValue");
  const std::string* const previous_index = parameter(query, "prevIndex");
  const std::string* const previous_exists = parameter(query, "prevExist");
  Node node;
  node.is_directory = is_set(query, "dir");
  const bool has_text = !node.is_directory && value != nullptr;  // copied when nothing is refused
  if ((previous_value != nullptr && !previous_value->empty()) || previous_index != nullptr) {
    const Node& present = tree_.require(key);
    if (present.is_directory) throw Refusal{403, 102, "Not a file", key};
    const auto refusal = check_previous(present, previous_value, previous_index);
    if (refusal) return told(*refusal);
    if (has_text) node.value = *value;
    node.created = present.created;
    set_ttl(node, ttl);
    return {200, tree_.write("compareAndSwap", key, std::move(node))};
  }
  const Node* const present = tree_.find(key);
  if (previous_exists != nullptr && *previous_exists == "false") {
    if (present != nullptr) return told({412, 105, "Key already exists", key});
    if (has_text) node.value = *value;
    set_ttl(node, ttl);
    return {201, tree_.write("create", key, std::move(node))};
  }
  if (has_text) node.value = *value;
  if (previous_exists != nullptr && *previous_exists == "true") {
    const Node& there = tree_.require(key);
    if (there.is_directory && value != nullptr && !value->empty()) {
      throw Refusal{403, 102, "Not a file", key};
    }
    node.is_directory = there.is_directory;
    node.created = there.created;
    const bool refresh = is_set(query, "refresh");
    if (refresh && value != nullptr) {
      throw Refusal{400, 212, "Value provided on refresh", "A value was provided on a refresh"};
    }
    if (refresh) node.value = there.value;
    set_ttl(node, ttl);
    return {200, tree_.write("update", key, std::move(node), refresh)};
  }
  if (present != nullptr && present->is_directory) throw Refusal{403, 102, "Not a file", key};
  set_ttl(node, ttl);
  const int status = present != nullptr ? 200 : 201;
  return {status, tree_.write("set", key, std::move(node))};
}

EtcdV2Server::Service::Answer EtcdV2Server::Service::post(const HttpQuery& query,
                                                          const std::string& key) {
  std::string digits = std::to_string(tree_.index() + 1);
  digits.insert(0, 20 - std::min<std::size_t>(20, digits.size()), '0');
  Node node;
  const std::string* const value = parameter(query, "value");
  if (value != nullptr) node.value = *value;
  set_ttl(node, parameter(query, "ttl"));
  return {201, tree_.write("create", (key == "/" ? "" : key) + "/" + digits, std::move(node))};
}

EtcdV2Server::Service::Answer EtcdV2Server::Service::remove(const HttpQuery& query,
                                                            const std::string& key) {
  if (key == "/") throw Refusal{403, 107, "Root is read only", "/"};
  const Node& present = tree_.require(key);
  const std::string* const previous_value = parameter(query, "prevValue");
  const std::string* const previous_index = parameter(query, "prevIndex");
  const bool compares = previous_value != nullptr || previous_index != nullptr;
  const bool recursive = is_set(query, "recursive");
  if (present.is_directory) {
    if (compares || (!is_set(query, "dir") && !recursive)) {
      throw Refusal{403, 102, "Not a file", key};
    }
    if (!recursive && tree_.has_children(key)) {
      throw Refusal{403, 108, "Directory not empty", key};
    }
  }
  if (compares) {
    const auto refusal = check_previous(present, previous_value, previous_index);
    if (refusal) return told(*refusal);
  }
  return {200, tree_.remove(compares ? "compareAndDelete" : "delete", key)};
}

// ---- waiting ------------------------------------------------------------------------------------

void EtcdV2Server::Service::watch(const Exchange& exchange, const std::string& key) {
  const bool recursive = is_set(exchange->query(), "recursive");
  const std::uint64_t since = index_of(parameter(exchange->query(), "waitIndex"), "waitIndex");
  const auto& history = tree_.history();
  const bool overrun = !history.empty() && since < history.front().index &&
                       history.size() == EtcdV2Tree::kHistoryMax;
  if (since > 0 && (overrun || since <= tree_.forgotten())) {
    throw Refusal{400, 401, "The event in requested index is outdated and cleared",
                  "the requested history has been cleared [" +
                      std::to_string(history.front().index) + "/" + std::to_string(since) + "]"};
  }
  exchange->begin(200, headers());
  if (since > 1 && misbehaviour_->on(Mode::duplicate_events)) {
    const EtcdV2Tree::Change* const last = next_for(key, recursive, since - 1);
    const bool again = last != nullptr && last->index == since - 1;
    if (again && told_twice_.insert(last->index).second) {
      misbehaviour_->strikes(Mode::duplicate_events);
      return exchange->finish(last->told);
    }
  }
  HOOKE_CHECK(key.front() == '/', "a key that is waited for begins with a slash");
  const std::uint64_t from = since > 0 ? since : seen_index() + 1;
  // The others have been told what is seen: only this one need be looked at, unless many are gone.
  const bool settled = told_up_to_ == seen_index() && waiters_.size() < 2 * waiters_told_ + 16;
  if (settled && next_for(key, recursive, from) == nullptr) {
    waiters_.push_back({exchange, key, recursive, std::max(from, seen_index() + 1)});
    return;
  }
  waiters_.push_back({exchange, key, recursive, from});
  tell();
}

const EtcdV2Tree::Change* EtcdV2Server::Service::next_for(const std::string& key, bool recursive,
                                                          std::uint64_t since) const {
  const auto& history = tree_.history();
  auto change = std::lower_bound(
      history.begin(), history.end(), since,
      [](const EtcdV2Tree::Change& one, std::uint64_t wanted) { return one.index < wanted; });
  for (; change != history.end() && change->index <= seen_index(); ++change) {
    if (change->concerns(key, recursive)) return &*change;
  }
  return nullptr;
}

void EtcdV2Server::Service::changed() {
  if (misbehaviour_->strikes(Mode::compaction)) tree_.forget();
  tell();
}

void EtcdV2Server::Service::tell() {
  std::vector<std::pair<Exchange, sim::Value>> told;
  std::vector<Waiter> waiting;
  for (Waiter& waiter : waiters_) {
    if (waiter.exchange->gone()) continue;
    const auto* const change = next_for(waiter.key, waiter.recursive, waiter.since);
    if (change != nullptr) {
      told.emplace_back(waiter.exchange, change->told);
      continue;
    }
    waiter.since = std::max(waiter.since, seen_index() + 1);  // nothing up to here concerns it
    waiting.push_back(std::move(waiter));
  }
  HOOKE_CHECK(waiting.size() + told.size() <= waiters_.size(),
              "a waiter is told, or waits on, or is gone");
  waiters_ = std::move(waiting);
  HOOKE_CHECK(told_up_to_ <= seen_index(), "what was told is not taken back");
  told_up_to_ = seen_index();
  waiters_told_ = waiters_.size();
  // An answer may let the next request of its connection in, which may change the tree.
  for (const auto& [exchange, change] : told) exchange->finish(change);
}

void EtcdV2Server::Service::expire() {
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  if (misbehaviour_->take_expiry(tree_.expired(sim::MonotonicTime::max()))) {
    ports_.trace.emit(events::etcd_misbehaved, {"expiry"});
    return tree_.expire(sim::MonotonicTime::max());
  }
  if (tree_.expired(now) == 0 || misbehaviour_->strikes(Mode::late_expiry)) return;
  if (!misbehaviour_->on(Mode::leader_loss)) tree_.expire(now);
}

void EtcdV2Server::Service::expire_for_ever() {
  while (!closed_) {
    tell();
    expire();
    const auto next = tree_.next_expiry();
    if (!next) {
      static_cast<void>(sooner_.wait());
      continue;
    }
    // What is over may have to wait: one tick at least.
    const sim::Duration span =
        std::max(*next, ports_.clock.monotonic_now() + 1ns).time_since_epoch();
    HOOKE_CHECK(span > sim::Duration::zero(), "what expires lies ahead");
    const sim::Duration ticks = (span + kExpiryTick - 1ns) / kExpiryTick * kExpiryTick;
    static_cast<void>(sooner_.wait(sim::MonotonicTime(ticks)));
  }
}

void EtcdV2Server::Service::look_at_modes() {
  if (!misbehaviour_->on(Mode::stale_read)) {
    stale_.reset();
  } else if (!stale_) {
    HOOKE_CHECK(!stale_, "reads become stale once");
    stale_.emplace(tree_);
    told_stale_ = false;
  }
  sooner_.wake_all();
}

void EtcdV2Server::Service::read_stale() {
  misbehaviour_->strikes(Mode::stale_read);
  if (!std::exchange(told_stale_, true)) ports_.trace.emit(events::etcd_misbehaved, {"stale_read"});
}

// ---- its life -----------------------------------------------------------------------------------

EtcdV2Server::EtcdV2Server(sim::Ports& ports, sim::PortNumber port,
                           std::shared_ptr<EtcdMisbehaviour> misbehaviour)
    : service_(std::make_shared<Service>(ports, std::move(misbehaviour))) {
  http_ = std::make_unique<HttpService>(
      ports, port, [service = service_](const Exchange& exchange) { service->handle(exchange); });
  service_->machines =
      "http://" + ports.network.host_name() + ":" + std::to_string(http_->port().value);
  ports.executor.spawn("etcd expiry", [service = service_] { service->expire_for_ever(); });
}

EtcdV2Server::~EtcdV2Server() {
  service_->close();
}

sim::PortNumber EtcdV2Server::port() const {
  return http_->port();
}

}  // namespace hooke::model
