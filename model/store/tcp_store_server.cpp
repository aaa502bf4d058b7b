// The server with the behaviour of PyTorch's libuv daemon (TCPStoreLibUvBackend.cpp), and towards
// clients of 1.13 with that of their daemon (TCPStore.cpp). One Connection per client parses and
// answers; the Server holds what they share: keys, queues and who
// waits for what. A barrier is a counter plus a wait for its key, as there.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "model/observe/trace_events.h"
#include "model/store/decimal.h"
#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class Connection;

class Server final : public TcpStoreServer, public sim::AcceptHandler {
 public:
  Server(sim::Ports& ports, sim::PortNumber port, const std::string& purpose, PlantedSet planted);
  ~Server() override;

  [[nodiscard]] sim::PortNumber port() const override { return listener_->local().port; }
  [[nodiscard]] std::size_t key_count() const override { return keys_.size(); }
  [[nodiscard]] std::size_t active_clients(sim::Duration span) const override;
  void on_accept(std::unique_ptr<sim::Stream> stream) override;
  /// Destroys the connection; nothing of it may be used afterwards.
  void drop(std::uint64_t connection);

 private:
  friend class Connection;
  sim::Ports& ports_;
  PlantedSet planted_;
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
  std::optional<sim::MonotonicTime>
      latest_broken_;  ///< when a connection that broke was last heard

  std::map<std::string, Value, std::less<>> keys_;
  std::map<std::string, std::deque<Value>, std::less<>> queues_;  ///< none is empty
  /// Connections registered for a key, one entry per registration, in order; no entry is empty.
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> waiting_;
};

/// Who waits says nothing. Nor does a machine that is down, whose connections nobody closes.
constexpr sim::Duration kLongestSilence = std::chrono::minutes(1);

class Connection final : public sim::StreamHandler {
 public:
  Connection(Server& server, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : server_(server), number_(number), stream_(std::move(stream)) {
    stream_->set_handler(*this);
  }

  void on_data(sim::Buffer& received) override;
  void on_end() override { server_.drop(number_); }
  /// Who has lost its connection comes again, unlike one who has closed it.
  void on_reset() override {
    server_.latest_broken_ = std::max(server_.latest_broken_.value_or(latest_), latest_);
    server_.drop(number_);
  }
  /// One of the keys this connection waits for has appeared; true if it was the last one missing.
  bool key_appeared();
  /// The registration for `key` has been used up.
  void registration_gone(const std::string& key) { registered_.erase(key); }
  /// Withdraws every registration.
  void forget_waits();
  [[nodiscard]] bool active_since(sim::MonotonicTime begin) const {
    return latest_ >= (registered_.empty() ? begin : begin - kLongestSilence);
  }

 private:
  /// Acts on one request; false when the protocol demands that the connection be closed.
  bool handle(Request& request);
  bool get(const Request& request);
  bool compare_set(Request& request);
  bool add(const Request& request);
  void wait(const Request& request);
  void wait_for(const std::string& key);
  void multi_get(const Request& request);
  bool barrier(const Request& request);
  void queue_push(Request& request);
  void queue_pop(const Request& request);
  void list_keys();
  void wake_waiters(const std::string& key);
  void store(const std::string& key, Value value);
  [[nodiscard]] bool all_present(const std::vector<std::string>& keys) const;
  [[nodiscard]] bool present(const std::string& key) const;
  [[nodiscard]] Value stored(const std::string& key) const;
  [[nodiscard]] bool planted(Planted which) const { return server_.planted_.has(which); }
  void reply(Message& message) { static_cast<void>(stream_->write(message.take())); }

  Server& server_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::optional<Variant> dialect_;  ///< known once enough has come to tell
  sim::MonotonicTime latest_{};     ///< when something last came
  std::size_t awaited_ = 0;         ///< keys of the latest WAIT that have not appeared yet
  /// Keys under which the server's waiting_ knows this connection.
  std::set<std::string, std::less<>> registered_;
};

Server::Server(sim::Ports& ports, sim::PortNumber port, const std::string& purpose,
               PlantedSet planted)
    : ports_(ports), planted_(planted) {
  auto listener = ports.network.listen(port, *this);
  if (!listener) {
    throw StoreNetworkError("the store cannot listen on port " + std::to_string(port.value) + ": " +
                            std::string(to_string(listener.failure().fault)));
  }
  listener_ = std::move(listener).value();
  HOOKE_CHECK(listener_->local().port.value != 0, "a server has a port");
  ports.trace.emit(events::store_serving, {std::uint32_t{listener_->local().port.value}, purpose});
}

Server::~Server() {
  ports_.trace.emit(events::store_stopped, {std::uint32_t{listener_->local().port.value}});
}

void Server::on_accept(std::unique_ptr<sim::Stream> stream) {
  const std::uint64_t number = next_connection_++;
  HOOKE_CHECK(stream != nullptr && !connections_.contains(number),
              "a connection that is accepted is a new one");
  connections_[number] = std::make_unique<Connection>(*this, number, std::move(stream));
}

std::size_t Server::active_clients(sim::Duration span) const {
  const sim::MonotonicTime begin = ports_.clock.monotonic_now() - span;
  const auto connected =
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& connection) { return connection.second->active_since(begin); });
  return static_cast<std::size_t>(connected) + (latest_broken_ >= begin ? 1 : 0);
}

void Server::drop(std::uint64_t connection) {
  const auto found = connections_.find(connection);
  HOOKE_CHECK(found != connections_.end(), "a connection is dropped once");
  found->second->forget_waits();
  HOOKE_CHECK(connection < next_connection_, "connections are numbered as they come");
  connections_.erase(found);
}

void Connection::on_data(sim::Buffer& received) {
  latest_ = server_.ports_.clock.monotonic_now();
  HOOKE_CHECK(latest_ >= sim::MonotonicTime{}, "a monotonic clock is never negative");
  if (!dialect_) dialect_ = dialect_of(received);
  if (!dialect_) return;
  try {
    while (!stream_->backed_up()) {
      auto request = take_request(received, *dialect_);
      if (!request) break;
      if (!handle(*request)) return server_.drop(number_);
    }
  } catch (const WireError&) {
    server_.drop(number_);
  }
}

bool Connection::handle(Request& request) {
  HOOKE_CHECK(dialect_.has_value(), "a request is taken in a dialect");
  switch (request.query) {
    case Query::validate: return request.number == kValidateMagic;
    case Query::ping: reply(Message().u32(static_cast<std::uint32_t>(request.number))); return true;
    case Query::set: store(request.key, std::move(request.value)); return true;
    case Query::compare_set: return compare_set(request);
    case Query::get: return get(request);
    case Query::add: return add(request);
    case Query::check:
      reply(Message().u8(all_present(request.keys) ? kCheckReady : kCheckNotReady));
      return true;
    case Query::wait: wait(request); return true;
    case Query::cancel_wait:
      forget_waits();
      reply(Message().u8(kWaitCanceled));
      return true;
    case Query::get_num_keys:
      reply(Message().i64(static_cast<std::int64_t>(server_.keys_.size())));
      return true;
    case Query::delete_key:
      reply(Message().i64(server_.keys_.erase(request.key) > 0 ? 1 : 0));
      return true;
    case Query::append: {
      const Value old = stored(request.key);
      store(request.key, Value(old.bytes() + request.value.bytes()));
      return true;
    }
    case Query::multi_get: multi_get(request); return true;
    case Query::multi_set:
      if (planted(Planted::store_multi_set_drops_last) && request.items.size() > 1)
        request.items.pop_back();
      for (auto& [key, value] : request.items) store(key, std::move(value));
      return true;
    case Query::queue_push: queue_push(request); return true;
    case Query::queue_pop: queue_pop(request); return true;
    case Query::queue_len: {
      const auto queue = server_.queues_.find(request.key);
      const std::size_t length = queue == server_.queues_.end() ? 0 : queue->second.size();
      reply(Message().i64(static_cast<std::int64_t>(length)));
      return true;
    }
    case Query::list_keys: list_keys(); return true;
    case Query::barrier: return barrier(request);
  }
  return false;
}

bool Connection::present(const std::string& key) const {
  return server_.keys_.contains(key) || server_.queues_.contains(key);
}

bool Connection::all_present(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return present(key); });
}

Value Connection::stored(const std::string& key) const {
  const auto found = server_.keys_.find(key);
  return found == server_.keys_.end() ? Value() : found->second;
}

void Connection::store(const std::string& key, Value value) {
  HOOKE_CHECK(key.size() <= kKeyBytesMax,
              "a key that is stored is no longer than a request allows");
  server_.keys_[key] = std::move(value);
  const bool any = planted(Planted::store_wakes_for_any_key) && !server_.waiting_.empty();
  wake_waiters(any ? std::string(server_.waiting_.begin()->first) : key);
}

bool Connection::get(const Request& request) {
  // 1.13 closes the connection; 2.x sends nothing as if it were a value.
  if (*dialect_ == Variant::torch_1_13 && !server_.keys_.contains(request.key)) return false;
  reply(Message().value(stored(request.key)));
  return true;
}

bool Connection::compare_set(Request& request) {
  const auto found = server_.keys_.find(request.key);
  Value answer;
  if (found == server_.keys_.end()) {
    if (request.expected.empty()) {
      answer = request.value;
      server_.keys_[request.key] = std::move(request.value);
    } else {
      answer = request.expected;  // says "as you expected" although nothing is stored (S-4)
    }
  } else if (found->second == request.expected || planted(Planted::store_compare_ignored)) {
    answer = found->second = std::move(request.value);
  } else {
    answer = found->second;
  }
  // In 2.x even when nothing was written (S-27), in 1.13 never.
  if (*dialect_ != Variant::torch_1_13) wake_waiters(request.key);
  reply(Message().value(answer));
  return true;
}

bool Connection::add(const Request& request) {
  std::int64_t number = 0;
  const auto found = server_.keys_.find(request.key);
  if (found != server_.keys_.end()) {
    const auto old = leading_number(found->second.bytes());
    if (!old) return false;
    number = *old;
  }
  const std::int64_t before = number;
  number = wrapping_sum(number, request.number);
  store(request.key, Value(std::to_string(number)));
  reply(Message().i64(planted(Planted::store_add_answers_old) ? before : number));
  return true;
}

void Connection::wait(const Request& request) {
  if (all_present(request.keys)) return reply(Message().u8(kStopWaiting));
  std::size_t missing = 0;
  for (const std::string& key : request.keys) {
    if (server_.keys_.contains(key)) continue;  // a queue counts as missing here (S-14)
    wait_for(key);
    ++missing;
  }
  HOOKE_CHECK(missing <= request.keys.size(), "no more keys are missing than were asked for");
  awaited_ = missing;  // replaces the count of an open WAIT, its registrations stay
}

void Connection::wait_for(const std::string& key) {
  HOOKE_CHECK(server_.connections_.contains(number_),
              "a connection that waits is one of the server");
  server_.waiting_[key].push_back(number_);
  registered_.insert(key);
}

void Connection::forget_waits() {
  for (const std::string& key : registered_) {
    const auto entry = server_.waiting_.find(key);
    HOOKE_CHECK(entry != server_.waiting_.end(),
                "a registered key is one that the server waits for");
    std::erase(entry->second, number_);
    if (entry->second.empty()) server_.waiting_.erase(entry);
  }
  registered_.clear();
  awaited_ = 0;
}

void Connection::wake_waiters(const std::string& key) {
  const auto found = server_.waiting_.find(key);
  if (found == server_.waiting_.end()) return;
  for (const std::uint64_t number : found->second) {
    Connection& waiter = *server_.connections_.at(number);
    HOOKE_CHECK(&waiter.server_ == &server_, "a waiter is a connection of this server");
    waiter.registration_gone(key);
    const bool overlooked =
        planted(Planted::store_wakes_one_waiter) && number != found->second.front();
    if (!overlooked) static_cast<void>(waiter.key_appeared());
  }
  HOOKE_CHECK(!found->second.empty(), "a key that is waited for has a waiter");
  server_.waiting_.erase(found);
}

bool Connection::key_appeared() {
  if (awaited_ == 0 || --awaited_ > 0) return false;
  reply(Message().u8(kStopWaiting));
  return true;
}

void Connection::multi_get(const Request& request) {
  Message message;
  for (const std::string& key : request.keys) message.value(stored(key));
  reply(message);
}

void Connection::queue_push(Request& request) {
  server_.queues_[request.key].push_back(std::move(request.value));
  const auto found = server_.waiting_.find(request.key);
  if (found == server_.waiting_.end()) return;
  HOOKE_CHECK(!found->second.empty(), "a key that is waited for has a waiter");
  // One is woken, and it stays registered, so that a later wait of its may end too early (S-14).
  for (const std::uint64_t number : found->second) {
    if (server_.connections_.at(number)->key_appeared()) return;
  }
}

void Connection::queue_pop(const Request& request) {
  const auto queue = server_.queues_.find(request.key);
  if (queue == server_.queues_.end()) return reply(Message().i64(0));
  HOOKE_CHECK(!queue->second.empty(), "no queue of the server is empty");
  reply(
      Message().i64(static_cast<std::int64_t>(queue->second.size())).value(queue->second.front()));
  queue->second.pop_front();
  if (queue->second.empty()) server_.queues_.erase(queue);
}

void Connection::list_keys() {
  Message message;
  message.i64(static_cast<std::int64_t>(server_.keys_.size()));
  for (const auto& [key, value] : server_.keys_) message.text(key);
  reply(message);
}

bool Connection::barrier(const Request& request) {
  std::int64_t arrived = 1;
  const auto found = server_.keys_.find(request.key);
  HOOKE_CHECK(request.query == Query::barrier, "a barrier counts its own requests");
  if (found != server_.keys_.end()) {
    const auto before = leading_number(found->second.bytes());
    if (!before) return false;
    arrived = wrapping_sum(*before, 1);
  }
  // Not by store(): only the last arrival wakes, so a WAIT for the key does not see the first one.
  server_.keys_[request.key] = Value(std::to_string(arrived));
  if (arrived >= request.number) {
    wake_waiters(request.key);  // the others first, then the last to arrive
    reply(Message().u8(kStopWaiting));
  } else {
    wait_for(request.key);  // like any waiter, and so released by any write to the counter (S-32)
    awaited_ = 1;
  }
  return true;
}

}  // namespace

std::unique_ptr<TcpStoreServer> serve_tcp_store(sim::Ports& ports, sim::PortNumber port,
                                                const std::string& purpose, PlantedSet planted) {
  return std::make_unique<Server>(ports, port, purpose, planted);
}

}  // namespace hooke::model
