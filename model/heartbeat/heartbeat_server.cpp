// Lines from connections into the table. The end of a connection means nothing by itself: its
// worker may come back by another one within its deadline.
#include "model/heartbeat/heartbeat_server.h"

#include <stdexcept>
#include <utility>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {

class HeartbeatServer::Connection final : public sim::StreamHandler {
 public:
  Connection(HeartbeatServer& server, std::uint64_t number, std::unique_ptr<sim::Stream> stream)
      : server_(server), number_(number), stream_(std::move(stream)) {
    stream_->set_handler(*this);
  }

  /// A line that means nothing ends its connection, and destroys this.
  void on_data(sim::Buffer& received) override {
    unread_ += received.take(received.size()).bytes();
    try {
      std::size_t begin = 0;
      for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;
           begin = end + 1) {
        if (end - begin >= kBeatBytesMax) throw std::invalid_argument("a line that is too long");
        send(server_.take(std::string_view(unread_).substr(begin, end - begin)));
      }
      HOOKE_CHECK(begin <= unread_.size(), "a beat that is taken is there");
      unread_.erase(0, begin);
      if (unread_.size() >= kBeatBytesMax) throw std::invalid_argument("a line without an end");
    } catch (const std::invalid_argument& error) {
      server_.ports_.trace.emit(events::heartbeat_refused, {error.what()});
      on_end();
    }
  }
  /// Destroys this.
  void on_end() override {
    HOOKE_CHECK(server_.connections_.contains(number_), "a connection ends once");
    server_.connections_.erase(number_);
  }

 private:
  /// A worker that does not read what it asks for is told nothing further.
  void send(std::string line) {
    if (line.empty() || stream_->backed_up()) return;
    line += '\n';
    static_cast<void>(stream_->write(sim::Buffer(std::move(line))));  // its end is heard of else
  }

  HeartbeatServer& server_;
  std::uint64_t number_;
  std::unique_ptr<sim::Stream> stream_;
  std::string unread_;
};

HeartbeatServer::HeartbeatServer(sim::Ports& ports, sim::PortNumber port,
                                 std::unique_ptr<HeartbeatTable> table)
    : ports_(ports), table_(std::move(table)) {
  HOOKE_CHECK(table_ != nullptr, "silence is judged by a table");
  const HeartbeatTerms& terms = table_->terms();
  if (terms.deadline <= sim::Duration::zero() ||
      terms.first_beat.value_or(terms.deadline) <= sim::Duration::zero()) {
    throw std::invalid_argument("a heartbeat deadline must be greater than zero");
  }
  auto listener = ports.network.listen(port, *this);
  if (!listener) {
    throw std::runtime_error("the heartbeat server cannot listen on port " +
                             std::to_string(port.value) + ": " +
                             std::string(to_string(listener.failure().fault)));
  }
  listener_ = std::move(listener).value();
  HOOKE_CHECK(listener_->local().port.value != 0, "a listener has a port");
}

HeartbeatServer::~HeartbeatServer() = default;

void HeartbeatServer::on_accept(std::unique_ptr<sim::Stream> stream) {
  const std::uint64_t number = next_connection_++;
  HOOKE_CHECK(stream != nullptr && !connections_.contains(number), "each connection is its own");
  connections_[number] = std::make_unique<Connection>(*this, number, std::move(stream));
}

std::string HeartbeatServer::take(std::string_view line) {
  const Beat beat = parse_beat(line);
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  const auto heard = table_->heard(beat.worker);
  switch (table_->take(beat, now)) {
    case HeartbeatTable::Reception::unknown:
      throw std::invalid_argument("no agent expects the worker \"" + beat.worker + "\"");
    case HeartbeatTable::Reception::old: return "";
    case HeartbeatTable::Reception::returned:
      HOOKE_CHECK(heard && *heard <= now, "a worker that returns was heard before");
      ports_.trace.emit(events::heartbeat_returned, {beat.worker, now - *heard});
      [[fallthrough]];
    case HeartbeatTable::Reception::counted:
      ports_.trace.emit(events::heartbeat_received, {beat.worker, beat.count, beat.last});
  }
  return beat.asks && answer_ ? answer_() : "";
}

std::vector<SilentWorker> HeartbeatServer::look() {
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  for (const SilentWorker& each : table_->look(now)) {
    HOOKE_CHECK(each.silent >= sim::Duration::zero(), "a silence has begun");
    ports_.trace.emit(events::heartbeat_lost, {each.worker, each.silent});
  }
  return table_->lost(now);
}

}  // namespace hooke::model
