// Reading the environment, and the fiber that beats.
#include "model/heartbeat/heartbeat_client.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

#include "model/heartbeat/beat.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// A connection may take that long at least, however often beats are due.
constexpr sim::Duration kConnectTimeout = 1s;
constexpr std::int64_t kMillisecondsMax = 1'000'000'000'000;

template <class Integer>
std::optional<Integer> whole_number(const std::string& text) {
  Integer value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::optional<HeartbeatClientOptions> heartbeat_options(
    const std::map<std::string, std::string>& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  const auto refuse = [&](const char* name, const char* expected) {
    throw std::invalid_argument(std::string(name) + ": expected " + expected + ", got \"" +
                                value(name) + "\"");
  };
  const std::string address = value(kHeartbeatAddress);
  if (address.empty()) return std::nullopt;
  HeartbeatClientOptions options;
  const std::size_t colon = address.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : whole_number<std::uint16_t>(address.substr(colon + 1));
  if (!port || *port == 0 || colon == 0) refuse(kHeartbeatAddress, "HOST:PORT");
  options.server = {address.substr(0, colon), sim::PortNumber{*port}};
  options.worker = value(kHeartbeatWorker);
  if (options.worker.empty()) refuse(kHeartbeatWorker, "a name");
  const auto interval = whole_number<std::int64_t>(value(kHeartbeatInterval));
  if (!interval || *interval < 1 || *interval > kMillisecondsMax) {
    refuse(kHeartbeatInterval, "whole milliseconds");
  }
  options.interval = std::chrono::milliseconds(*interval);
  options.asks = value(kHeartbeatPeers) == "1";
  return options;
}

class HeartbeatClient::Pulse : public std::enable_shared_from_this<Pulse>,
                               private sim::StreamHandler {
 public:
  Pulse(sim::Ports& ports, HeartbeatClientOptions options)
      : ports_(ports), options_(std::move(options)), awake_(ports.executor) {}

  void start() {
    if (over_) return;
    if (std::exchange(beating_, true)) return;
    tell("beats");
    awake_.wake_all();
    if (std::exchange(has_fiber_, true)) return;
    HOOKE_CHECK(stream_ == nullptr && count_ == 0, "the first beat comes after the start");
    ports_.executor.spawn("heartbeat", [self = shared_from_this()] { self->run(); });
  }
  void pause() {
    HOOKE_CHECK(!beating_ || has_fiber_, "what beats has a fiber");
    if (std::exchange(beating_, false)) tell("silent");
  }
  void stop() {
    if (std::exchange(over_, true)) return;
    HOOKE_CHECK(!beating_ || has_fiber_, "what beats has a fiber");
    if (stream_ != nullptr) write(true);
    tell("ended");
    leave();
  }
  void leave() {
    over_ = true;
    beating_ = false;
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] const std::optional<PeersSeen>& peers() const { return peers_; }

 private:
  /// Answers, where any are asked for.
  void on_data(sim::Buffer& received) override {
    unread_ += received.take(received.size()).bytes();
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      try {
        peers_ = PeersSeen{parse_peers(std::string_view(unread_).substr(begin, end - begin)),
                           ports_.clock.monotonic_now()};
      } catch (const std::invalid_argument& error) {
        tell("cannot read", error.what());
      }
    }
    HOOKE_CHECK(begin <= unread_.size(), "an answer that is read is there");
    unread_.erase(0, begin);
    if (unread_.size() >= kPeersBytesMax) has_ended_ = true;
  }
  /// The next beat goes over a new connection.
  void on_end() override { has_ended_ = true; }

  void run() {
    HOOKE_CHECK(has_fiber_, "one fiber beats");
    while (!over_) {
      if (beating_) beat();
      if (over_) break;
      static_cast<void>(awake_.wait(ports_.clock.monotonic_now() + options_.interval));
    }
    stream_ = nullptr;
  }

  void beat() {
    HOOKE_CHECK(beating_ && !over_, "a client beats between its start and its end");
    if (has_ended_) stream_ = nullptr;
    if (stream_ == nullptr) {
      auto stream =
          ports_.network.connect(options_.server, ports_.clock.monotonic_now() +
                                                      std::max(options_.interval, kConnectTimeout));
      if (!stream) return cut_off(to_string(stream.failure().fault));
      stream_ = std::move(stream).value();
      HOOKE_CHECK(stream_ != nullptr, "a connection that was made is there");
      has_ended_ = false;
      unread_.clear();
      if (options_.asks) stream_->set_handler(*this);
      if (std::exchange(cut_off_, false)) tell("connected");
      if (!beating_) return;  // silenced while it connected
    }
    write(false);
  }

  void write(bool last) {
    HOOKE_CHECK(stream_ != nullptr, "a beat goes over a connection");
    HOOKE_CHECK(count_ < std::numeric_limits<std::uint64_t>::max(), "beats are counted upward");
    const auto written = stream_->write(
        sim::Buffer(encode_beat({options_.worker, ++count_, last, options_.asks && !last}) + "\n"));
    if (written) {
      ++sent_;
      HOOKE_CHECK(sent_ <= count_, "no more beats are sent than are counted");
    } else {
      stream_ = nullptr;
      cut_off(to_string(written.failure().fault));
    }
  }

  void cut_off(std::string_view why) {
    HOOKE_CHECK(stream_ == nullptr, "a client that is cut off has no connection");
    if (!std::exchange(cut_off_, true)) tell("cut off", why);
  }
  void tell(std::string_view change, std::string_view detail = "") {
    ports_.trace.emit(events::heartbeat_client, {options_.worker, change, detail});
  }

  sim::Ports& ports_;
  HeartbeatClientOptions options_;
  sim::WaitQueue awake_;
  std::optional<PeersSeen> peers_;
  std::string unread_;                   ///< of an answer
  bool has_ended_ = false;               ///< the agent has closed the connection
  std::unique_ptr<sim::Stream> stream_;  ///< before what it calls, in the order of ends
  std::uint64_t count_ = 0;
  std::uint64_t sent_ = 0;
  bool has_fiber_ = false;
  bool beating_ = false;
  bool cut_off_ = false;
  bool over_ = false;
};

HeartbeatClient::HeartbeatClient(sim::Ports& ports, HeartbeatClientOptions options) {
  if (options.interval <= sim::Duration::zero()) {
    throw std::invalid_argument("a heartbeat interval must be greater than zero");
  }
  pulse_ = std::make_shared<Pulse>(ports, std::move(options));
}

HeartbeatClient::~HeartbeatClient() {
  pulse_->leave();
}

void HeartbeatClient::start() {
  pulse_->start();
}
void HeartbeatClient::pause() {
  pulse_->pause();
}
void HeartbeatClient::stop() {
  pulse_->stop();
}
std::uint64_t HeartbeatClient::sent() const {
  return pulse_->sent();
}
std::optional<PeersSeen> HeartbeatClient::peers() const {
  return pulse_->peers();
}

}  // namespace hooke::model
