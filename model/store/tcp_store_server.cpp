// The server with the behaviour of PyTorch's libuv daemon (TCPStoreLibUvBackend.cpp), and towards
// clients of 1.13 with that of their daemon (TCPStore.cpp). One Connection per client parses and
// answers; the Server holds what they share: the contents of the store and who waits for what. A
// barrier is a counter plus a wait for its key, as there.
#include <algorithm>
#include <map>
#include <set>

#include "model/observe/trace_events.h"
#include "model/store/decimal.h"
#include "model/store/tcp_store.h"
#include "model/store/tcp_store_contents.h"
#include "model/store/wire.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class Connection;

class Server final : public TcpStoreServer, public sim::AcceptHandler {
 public:
  Server(sim::Ports& ports, sim::PortNumber port, const std::string& purpose, PlantedSet planted,
         TcpStoreLimits limits);
  ~Server() override;

  [[nodiscard]] sim::PortNumber port() const override { return listener_->local().port; }
  [[nodiscard]] std::size_t key_count() const override { return contents_.keys().size(); }
  [[nodiscard]] Holdings holdings() const override {
    return {connections_.size(), account_.held()};
  }
  [[nodiscard]] std::size_t active_clients(sim::Duration span) const override;
  void on_accept(std::unique_ptr<sim::Stream> stream) override;
  /// Destroys the connection; nothing of it may be used afterwards.
  void drop(std::uint64_t connection);

 private:
  friend class Connection;
  sim::Ports& ports_;
  PlantedSet planted_;
  StoreAccount account_;
  StoreContents contents_{account_};
  StoreWaits waits_{account_};
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
  std::optional<sim::MonotonicTime>
      latest_broken_;  ///< when a connection that broke was last heard
};

/// Who waits says nothing. Nor does a machine that is down, whose connections no client closes.
constexpr sim::Duration kLongestSilence = std::chrono::minutes(1);

class Connection final : public sim::StreamHandler {
 public:
  Connection(Server& server, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : server_(server), number_(number), stream_(std::move(stream)), unfinished_(server.account_) {
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
  /// Acts on the requests that have come whole; false when the connection must be closed.
  bool answer_all(sim::Buffer& received);
  /// Of replies that the client does not read. Not below the limit at which a stream is backed up:
  /// only then it says when that is over, and what is counted must not stay so for ever.
  [[nodiscard]] std::uint64_t unheard_bytes() const {
    return stream_->backed_up() ? stream_->unsent() : 0;
  }
  /// Acts on one request; false when the protocol demands that the connection be closed.
  bool handle(Request& request);
  bool get(const Request& request);
  bool append(const Request& request);
  bool compare_set(Request& request);
  bool add(const Request& request);
  bool wait(const Request& request);
  bool wait_for(const std::string& key);
  bool multi_get(const Request& request);
  bool multi_set(Request& request);
  bool barrier(const Request& request);
  bool queue_push(Request& request);
  void queue_pop(const Request& request);
  bool list_keys();
  void wake_waiters(const std::string& key);
  /// Writes and wakes; false when the store is full.
  bool store(const std::string& key, Value value);
  void wake_for_a_write(const std::string& key);
  [[nodiscard]] bool planted(Planted which) const { return server_.planted_.has(which); }
  void reply(Message& message) { static_cast<void>(stream_->write(message.take())); }
  bool reply_count(std::size_t count) {
    reply(Message().i64(static_cast<std::int64_t>(count)));
    return true;
  }

  Server& server_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::optional<Variant> dialect_;  ///< known once enough has come to tell
  ListProgress list_progress_;
  sim::MonotonicTime latest_{};  ///< when something last came
  HeldBytes unfinished_;         ///< the beginning of a request, and replies that are not read
  std::size_t awaited_ = 0;      ///< keys of the latest WAIT that have not appeared yet
  /// Keys under which the server's waits_ know this connection.
  std::set<std::string, std::less<>> registered_;
};

Server::Server(sim::Ports& ports, sim::PortNumber port, const std::string& purpose,
               PlantedSet planted, TcpStoreLimits limits)
    : ports_(ports), planted_(planted), account_(limits, ports.clock) {
  auto listener = limits.loopback ? ports.network.listen_loopback(port, *this)
                                  : ports.network.listen(port, *this);
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
  if (!account_.allows_connection(connections_.size())) return;
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
  connections_.erase(found);
}

void Connection::on_data(sim::Buffer& received) {
  latest_ = server_.ports_.clock.monotonic_now();
  HOOKE_CHECK(latest_ >= sim::MonotonicTime{}, "a monotonic clock is never negative");
  if (!dialect_) dialect_ = dialect_of(received);
  if (!dialect_) return;
  if (!answer_all(received) || !unfinished_.become(received.size() + unheard_bytes()))
    server_.drop(number_);
}

bool Connection::answer_all(sim::Buffer& received) {
  try {
    while (!stream_->backed_up()) {
      auto request = take_request(received, *dialect_, list_progress_);
      if (!request) return server_.account_.allows_request(received.size());
      if (!handle(*request)) return false;
    }
  } catch (const WireError&) {
    return false;
  }
  return true;
}

bool Connection::handle(Request& request) {
  HOOKE_CHECK(dialect_.has_value(), "a request is taken in a dialect");
  switch (request.query) {
    case Query::validate: return request.number == kValidateMagic;
    case Query::ping: reply(Message().u32(static_cast<std::uint32_t>(request.number))); return true;
    case Query::set: return store(request.key, std::move(request.value));
    case Query::compare_set: return compare_set(request);
    case Query::get: return get(request);
    case Query::add: return add(request);
    case Query::check:
      reply(
          Message().u8(server_.contents_.all_present(request.keys) ? kCheckReady : kCheckNotReady));
      return true;
    case Query::wait: return wait(request);
    case Query::cancel_wait:
      forget_waits();
      reply(Message().u8(kWaitCanceled));
      return true;
    case Query::get_num_keys: return reply_count(server_.contents_.keys().size());
    case Query::delete_key: reply(Message().i64(server_.contents_.erase(request.key))); return true;
    case Query::append: return append(request);
    case Query::multi_get: return multi_get(request);
    case Query::multi_set: return multi_set(request);
    case Query::queue_push: return queue_push(request);
    case Query::queue_pop: queue_pop(request); return true;
    case Query::queue_len: return reply_count(server_.contents_.queue_length(request.key));
    case Query::list_keys: return list_keys();
    case Query::barrier: return barrier(request);
  }
  return false;
}

bool Connection::store(const std::string& key, Value value) {
  HOOKE_CHECK(key.size() <= kKeyBytesMax,
              "a key that is stored is no longer than a request allows");
  if (!server_.contents_.put(key, std::move(value))) return false;
  wake_for_a_write(key);
  return true;
}

void Connection::wake_for_a_write(const std::string& key) {
  if (planted(Planted::store_wakes_for_any_key) && !server_.waits_.empty()) {
    wake_waiters(std::string(server_.waits_.first_key()));
  } else {
    wake_waiters(key);
  }
}

bool Connection::append(const Request& request) {
  const std::uint64_t old = server_.contents_.size_of(request.key);
  if (!server_.account_.allows_reply(8 + old + request.value.size())) return false;
  if (!server_.contents_.append(request.key, request.value)) return false;
  wake_for_a_write(request.key);
  return true;
}

bool Connection::get(const Request& request) {
  // 1.13 closes the connection; 2.x sends nothing as if it were a value.
  if (*dialect_ == Variant::torch_1_13 && server_.contents_.find(request.key) == nullptr)
    return false;
  reply(Message().value(server_.contents_.value(request.key)));
  return true;
}

bool Connection::compare_set(Request& request) {
  const Value* found = server_.contents_.find(request.key);
  Value answer;
  if (found == nullptr) {
    if (request.expected.empty()) {
      answer = request.value;
      if (!server_.contents_.put(request.key, std::move(request.value))) return false;
    } else {
      answer = request.expected;  // says "as you expected" although nothing is stored (S-4)
    }
  } else if (*found == request.expected || planted(Planted::store_compare_ignored)) {
    answer = request.value;
    if (!server_.contents_.put(request.key, std::move(request.value))) return false;
  } else {
    answer = *found;
  }
  // In 2.x even when nothing was written (S-27), in 1.13 never.
  if (*dialect_ != Variant::torch_1_13) wake_waiters(request.key);
  reply(Message().value(answer));
  return true;
}

bool Connection::add(const Request& request) {
  const auto before = server_.contents_.number_at(request.key);
  if (!before) return false;
  const std::int64_t number = wrapping_sum(*before, request.number);
  if (!store(request.key, Value(std::to_string(number)))) return false;
  reply(Message().i64(planted(Planted::store_add_answers_old) ? *before : number));
  return true;
}

bool Connection::wait(const Request& request) {
  if (server_.contents_.all_present(request.keys)) {
    reply(Message().u8(kStopWaiting));
    return true;
  }
  std::size_t missing = 0;
  for (const std::string& key : request.keys) {
    if (server_.contents_.find(key) != nullptr) continue;  // a queue counts as missing here (S-14)
    if (!wait_for(key)) return false;
    ++missing;
  }
  HOOKE_CHECK(missing <= request.keys.size(), "no more keys are missing than were asked for");
  awaited_ = missing;  // replaces the count of an open WAIT, its registrations stay
  return true;
}

bool Connection::wait_for(const std::string& key) {
  HOOKE_CHECK(server_.connections_.contains(number_),
              "a connection that waits is one of the server");
  if (!server_.waits_.add(key, number_)) return false;
  registered_.insert(key);
  return true;
}

void Connection::forget_waits() {
  for (const std::string& key : registered_) server_.waits_.withdraw(key, number_);
  registered_.clear();
  awaited_ = 0;
}

void Connection::wake_waiters(const std::string& key) {
  const StoreWaits::Waiters* found = server_.waits_.find(key);
  if (found == nullptr) return;
  for (const std::uint64_t number : *found) {
    Connection& waiter = *server_.connections_.at(number);
    HOOKE_CHECK(&waiter.server_ == &server_, "a waiter is a connection of this server");
    waiter.registration_gone(key);
    const bool overlooked = planted(Planted::store_wakes_one_waiter) && number != found->front();
    if (!overlooked) static_cast<void>(waiter.key_appeared());
  }
  server_.waits_.withdraw_all(key);
}

bool Connection::key_appeared() {
  if (awaited_ == 0 || --awaited_ > 0) return false;
  reply(Message().u8(kStopWaiting));
  return true;
}

bool Connection::multi_get(const Request& request) {
  std::uint64_t bytes = 0;
  Message message;  // values travel by reference: nothing is copied before the reply is written
  for (const std::string& key : request.keys) {
    const Value value = server_.contents_.value(key);
    bytes += 8 + value.size();
    message.value(value);
  }
  if (!server_.account_.allows_reply(bytes)) return false;
  reply(message);
  return true;
}

bool Connection::multi_set(Request& request) {
  // All of it or nothing: a store that is full must not be left with the half.
  if (!server_.contents_.has_room_for(request.items)) return false;
  if (planted(Planted::store_multi_set_drops_last) && request.items.size() > 1)
    request.items.pop_back();
  for (auto& [key, value] : request.items) {
    const bool stored = store(key, std::move(value));
    HOOKE_CHECK(stored, "what has room is stored");
  }
  return true;
}

bool Connection::queue_push(Request& request) {
  if (!server_.contents_.push(request.key, std::move(request.value))) return false;
  const StoreWaits::Waiters* found = server_.waits_.find(request.key);
  if (found == nullptr) return true;
  // One is woken, and it stays registered, so that a later wait of its may end too early (S-14).
  for (const std::uint64_t number : *found) {
    if (server_.connections_.at(number)->key_appeared()) return true;
  }
  return true;
}

void Connection::queue_pop(const Request& request) {
  const std::size_t length = server_.contents_.queue_length(request.key);
  Message message;
  message.i64(static_cast<std::int64_t>(length));
  if (length > 0) message.value(*server_.contents_.pop(request.key));
  reply(message);
}

bool Connection::list_keys() {
  std::uint64_t bytes = 8;
  for (const auto& [key, value] : server_.contents_.keys()) bytes += 8 + key.size();
  if (!server_.account_.allows_reply(bytes)) return false;
  Message message;
  message.i64(static_cast<std::int64_t>(server_.contents_.keys().size()));
  for (const auto& [key, value] : server_.contents_.keys()) message.text(key);
  reply(message);
  return true;
}

bool Connection::barrier(const Request& request) {
  HOOKE_CHECK(request.query == Query::barrier, "a barrier counts its own requests");
  const auto before = server_.contents_.number_at(request.key);
  if (!before) return false;
  const std::int64_t arrived = wrapping_sum(*before, 1);
  // Not by store(): only the last arrival wakes, so a WAIT for the key does not see the first one.
  if (!server_.contents_.put(request.key, Value(std::to_string(arrived)))) return false;
  if (arrived >= request.number) {
    wake_waiters(request.key);  // the others first, then the last to arrive
    reply(Message().u8(kStopWaiting));
  } else {
    // Like any waiter, and so released by any write to the counter (S-32).
    if (!wait_for(request.key)) return false;
    awaited_ = 1;
  }
  return true;
}

}  // namespace

std::unique_ptr<TcpStoreServer> serve_tcp_store(sim::Ports& ports, sim::PortNumber port,
                                                const std::string& purpose, PlantedSet planted,
                                                TcpStoreLimits limits) {
  return std::make_unique<Server>(ports, port, purpose, planted, std::move(limits));
}

}  // namespace hooke::model
