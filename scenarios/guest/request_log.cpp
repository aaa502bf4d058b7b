// A network whose streams copy what is written, and the words for what was.
#include "scenarios/guest/request_log.h"

#include <algorithm>
#include <utility>

#include "model/rendezvous/state/state_codec.h"

namespace hooke::scenario {
namespace {

using sim::Buffer;
using sim::Done;
using sim::Endpoint;
using sim::MonotonicTime;
using sim::Outcome;

class WatchedStream final : public sim::Stream {
 public:
  WatchedStream(std::unique_ptr<sim::Stream> real, model::Variant variant, OnRequest& on_request)
      : real_(std::move(real)), variant_(variant), on_request_(on_request) {}

  Outcome<Done> write(Buffer bytes) override {
    if (understood_) sent_.append(bytes);
    Outcome<Done> done = real_->write(std::move(bytes));
    if (done.ok() && understood_) look();
    return done;
  }
  [[nodiscard]] bool backed_up() const override { return real_->backed_up(); }
  [[nodiscard]] std::size_t unsent() const override { return real_->unsent(); }
  [[nodiscard]] bool peer_is_of_this_user() const override { return real_->peer_is_of_this_user(); }
  Outcome<Buffer> read(std::optional<MonotonicTime> deadline) override {
    return real_->read(deadline);
  }
  void set_handler(sim::StreamHandler& handler) override { real_->set_handler(handler); }
  void finish_writing() override { real_->finish_writing(); }
  void reset() override { real_->reset(); }
  [[nodiscard]] Endpoint local() const override { return real_->local(); }
  [[nodiscard]] Endpoint peer() const override { return real_->peer(); }

 private:
  void look() {
    try {
      while (const auto request = model::take_request(sent_, variant_, progress_)) {
        progress_ = {};
        on_request_(*request);
      }
    } catch (const model::WireError&) {
      understood_ = false;
    }
  }

  std::unique_ptr<sim::Stream> real_;
  model::Variant variant_;
  OnRequest& on_request_;
  Buffer sent_;
  model::ListProgress progress_;
  bool understood_ = true;
};

class WatchedNetwork final : public sim::Network {
 public:
  WatchedNetwork(sim::Network& real, model::Variant variant, OnRequest on_request)
      : real_(real), variant_(variant), on_request_(std::move(on_request)) {}

  Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber port,
                                                 sim::AcceptHandler& handler) override {
    return real_.listen(port, handler);
  }
  Outcome<std::unique_ptr<sim::Listener>> listen_loopback(sim::PortNumber port,
                                                          sim::AcceptHandler& handler) override {
    return real_.listen_loopback(port, handler);
  }
  Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string& path,
                                                       sim::AcceptHandler& handler) override {
    return real_.listen_local(path, handler);
  }
  Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string& path, std::optional<MonotonicTime> deadline) override {
    return real_.connect_local(path, deadline);
  }
  Outcome<std::unique_ptr<sim::Stream>> connect(const Endpoint& to,
                                                std::optional<MonotonicTime> deadline) override {
    auto stream = real_.connect(to, deadline);
    if (!stream.ok()) return stream;
    return std::unique_ptr<sim::Stream>(
        std::make_unique<WatchedStream>(std::move(stream.value()), variant_, on_request_));
  }
  Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const Endpoint& to, const sim::TlsOptions& tls,
      std::optional<MonotonicTime> deadline) override {
    return real_.connect_secure(to, tls, deadline);
  }
  Outcome<std::vector<std::string>> resolve(const std::string& host) override {
    return real_.resolve(host);
  }
  Outcome<std::string> canonical_name(const std::string& host) override {
    return real_.canonical_name(host);
  }
  [[nodiscard]] std::string host_name() const override { return real_.host_name(); }
  [[nodiscard]] std::string fully_qualified_name() const override {
    return real_.fully_qualified_name();
  }

 private:
  sim::Network& real_;
  model::Variant variant_;
  OnRequest on_request_;
};

const char* name_of(model::Query query) {
  using Q = model::Query;
  switch (query) {
    case Q::validate: return "validate";
    case Q::set: return "set";
    case Q::compare_set: return "compare_set";
    case Q::get: return "get";
    case Q::add: return "add";
    case Q::check: return "check";
    case Q::wait: return "wait";
    case Q::get_num_keys: return "num_keys";
    case Q::delete_key: return "delete_key";
    case Q::append: return "append";
    case Q::multi_get: return "multi_get";
    case Q::multi_set: return "multi_set";
    case Q::cancel_wait: return "cancel_wait";
    case Q::ping: return "ping";
    case Q::queue_push: return "queue_push";
    case Q::queue_pop: return "queue_pop";
    case Q::queue_len: return "queue_len";
    case Q::list_keys: return "list_keys";
    case Q::barrier: return "barrier";
  }
  return "?";
}

/// "a_100_0, b_100_0": each node's own text, in the order of the alphabet.
template <class List, class Text>
std::string sorted(const List& list, Text text) {
  std::vector<std::string> names;
  for (const auto& each : list) names.push_back(text(each));
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return "[" + out + "]";
}

void tell(const model::RendezvousState& state, RequestText& out) {
  const auto name = [](const model::NodeRef& node) { return node->text(); };
  out.text += " {round " + std::to_string(state.round) + (state.complete ? ", complete" : "") +
              (state.closed ? ", closed" : "") + (state.deadline ? ", last call" : "") +
              ", participants " +
              sorted(state.participants,
                     [](const model::Participant& each) {
                       return each.node->text() + ":" + std::to_string(each.rank);
                     }) +
              ", waiting " + sorted(state.wait_list, name) + ", spare " +
              sorted(state.redundancy_list, name) + ", heartbeats " +
              sorted(state.last_heartbeats,
                     [](const model::Heartbeat& each) { return each.node->text(); }) +
              "}";
  if (state.deadline) out.times.push_back(*state.deadline);
  std::vector<model::Heartbeat> beats = state.last_heartbeats.entries();
  std::sort(beats.begin(), beats.end(), [](const model::Heartbeat& a, const model::Heartbeat& b) {
    return a.node->text() < b.node->text();
  });
  for (const model::Heartbeat& beat : beats) out.times.push_back(beat.at);
}

/// A state by its fields, any other value by its bytes.
void tell(const sim::Value& value, model::Variant variant, RequestText& out) {
  out.bytes += value.size();
  try {
    tell(*model::decode_state(model::decode_stored(value), variant), out);
  } catch (const model::RendezvousError&) {
    out.text += " \"" + value.bytes() + "\"";
  }
}

}  // namespace

std::unique_ptr<sim::Network> watched_network(sim::Network& real, model::Variant variant,
                                              OnRequest on_request) {
  return std::make_unique<WatchedNetwork>(real, variant, std::move(on_request));
}

RequestText text_of(const model::Request& request, model::Variant variant) {
  using Q = model::Query;
  RequestText out{name_of(request.query), {}, 0};
  if (request.query == Q::ping || request.query == Q::validate)
    return out;  // a number that is drawn
  if (!request.key.empty()) out.text += " " + request.key;
  for (const std::string& key : request.keys) out.text += " " + key;
  if (request.query == Q::add) out.text += " " + std::to_string(request.number);
  // What a compare-and-set expects is what an earlier request has shown.
  const bool valued = request.query == Q::set || request.query == Q::compare_set ||
                      request.query == Q::append || request.query == Q::queue_push;
  if (valued) tell(request.value, variant, out);
  out.bytes += request.expected.size();
  for (const auto& [key, value] : request.items) {
    out.text += " " + key;
    tell(value, variant, out);
  }
  return out;
}

}  // namespace hooke::scenario
