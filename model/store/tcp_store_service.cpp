// Connections and whole requests; tcp_store_requests.cpp has what each request does.
#include "model/store/tcp_store_service.h"

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// A client that waits says nothing. Nor does a machine that is down, whose connections no client
/// closes.
constexpr sim::Duration kLongestSilence = std::chrono::minutes(1);

}  // namespace

TcpStoreService::TcpStoreService(sim::Ports& ports, sim::PortNumber port,
                                 const std::string& purpose, TcpStoreLimits limits)
    : ports_(ports), account_(limits, ports.clock) {
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

TcpStoreService::~TcpStoreService() {
  ports_.trace.emit(events::store_stopped, {std::uint32_t{listener_->local().port.value}});
}

void TcpStoreService::on_accept(std::unique_ptr<sim::Stream> stream) {
  if (!account_.allows_connection(connections_.size())) return;
  const std::uint64_t number = next_connection_++;
  HOOKE_CHECK(stream != nullptr && !connections_.contains(number),
              "a connection that is accepted is a new one");
  connections_[number] = std::make_unique<TcpStoreServed>(*this, number, std::move(stream));
}

std::size_t TcpStoreService::active_clients(sim::Duration span) const {
  HOOKE_CHECK(span >= sim::Duration::zero(), "clients that are active were so until now");
  const sim::MonotonicTime begin = ports_.clock.monotonic_now() - span;
  const auto connected =
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& connection) { return connection.second->active_since(begin); });
  return static_cast<std::size_t>(connected) + (latest_broken_ >= begin ? 1 : 0);
}

void TcpStoreService::drop(std::uint64_t connection) {
  const auto found = connections_.find(connection);
  HOOKE_CHECK(found != connections_.end(), "a connection is dropped once");
  found->second->forget_waits();
  connections_.erase(found);
}

TcpStoreServed::TcpStoreServed(TcpStoreService& server, std::uint64_t number,
                               std::unique_ptr<sim::Stream> stream)
    : server_(server), number_(number), stream_(std::move(stream)), unfinished_(server.account_) {
  stream_->set_handler(*this);
}

bool TcpStoreServed::active_since(sim::MonotonicTime begin) const {
  return latest_ >= (registered_.empty() ? begin : begin - kLongestSilence);
}

void TcpStoreServed::on_data(sim::Buffer& received) {
  latest_ = server_.ports_.clock.monotonic_now();
  HOOKE_CHECK(latest_ >= sim::MonotonicTime{}, "a monotonic clock is never negative");
  if (!dialect_) dialect_ = dialect_of(received);
  if (!dialect_) return;
  if (!answer_all(received) || !unfinished_.become(received.size() + unheard_bytes()))
    server_.drop(number_);
}

bool TcpStoreServed::answer_all(sim::Buffer& received) {
  try {
    while (!stream_->backed_up()) {
      if (const Request* const known = server_.familiar_.find(received, *dialect_)) {
        received.drop(received.size());
        list_progress_ = {};
        if (!answer(*known)) return false;
        continue;
      }
      const std::string text(FamiliarRequests::text_of(received));
      auto request = take_request(received, *dialect_, list_progress_);
      if (!request) return server_.account_.allows_request(received.size());
      if (!handle(*request)) return false;
      if (received.empty()) server_.familiar_.remember(text, *dialect_, std::move(*request));
    }
  } catch (const WireError&) {
    return false;
  }
  return true;
}

bool TcpStoreServed::handle(Request& request) {
  HOOKE_CHECK(dialect_.has_value(), "a request is taken in a dialect");
  switch (request.query) {
    case Query::set: return store(request.key, std::move(request.value));
    case Query::compare_set: return compare_set(request);
    case Query::multi_set: return multi_set(request);
    case Query::queue_push: return queue_push(request);
    default: return answer(request);
  }
}

bool TcpStoreServed::answer(const Request& request) {
  switch (request.query) {
    case Query::validate: return request.number == kValidateMagic;
    case Query::ping: reply(Message().u32(static_cast<std::uint32_t>(request.number))); return true;
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
    case Query::queue_pop: queue_pop(request); return true;
    case Query::queue_len: return reply_count(server_.contents_.queue_length(request.key));
    case Query::list_keys: return list_keys();
    case Query::barrier: return barrier(request);
    case Query::set:
    case Query::compare_set:
    case Query::multi_set:
    case Query::queue_push: break;
  }
  HOOKE_CHECK(false, "each query of the protocol is answered");
  return false;
}

}  // namespace hooke::model
