#pragma once
// The store at the level of bytes: raw connections to the server of a StoreWorld, and requests to
// send on them.

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/store/wire.h"
#include "store_world.h"

namespace hooke::model {

/// The bytes of a message, or of several.
inline std::string bytes_of(Message message) {
  sim::Buffer buffer = message.take();
  return buffer.take_bytes(buffer.size());
}
inline std::string opening() {
  return bytes_of(Message(Query::validate).u32(kValidateMagic));
}
inline std::string list_of(Query query, const std::vector<std::string>& keys) {
  Message message(query);
  message.u64(keys.size());
  for (const std::string& key : keys) message.text(key);
  return bytes_of(std::move(message));
}
inline std::string number_text(std::int64_t number) {
  return bytes_of(Message().i64(number));
}
inline std::string value_text(const std::string& value) {
  return bytes_of(Message().text(value));
}

/// A connection to the store at the level of bytes.
class RawClient {
 public:
  explicit RawClient(sim::Ports& ports, const std::string& first = opening()) : ports_(ports) {
    auto stream = ports.network.connect({"s", kStorePort}, std::nullopt);
    if (!stream) throw std::runtime_error("the store does not accept connections");
    stream_ = std::move(stream).value();
    if (!first.empty()) send(first);
  }
  void send(const std::string& bytes) { static_cast<void>(stream_->write(sim::Buffer(bytes))); }
  /// What has come after `silence` without anything more; ends with "<end>" or with the fault's
  /// name in angle brackets when the connection is over.
  std::string receive(sim::Duration silence = std::chrono::milliseconds(10)) {
    std::string got;
    for (;;) {
      const std::string more = world::read_text(*stream_, world::in(ports_, silence));
      if (more == "<timed out>") return got;
      got += more;
      if (more.starts_with("<")) return got;
    }
  }
  std::string call(const std::string& bytes) {
    send(bytes);
    return receive();
  }
  sim::Stream& stream() { return *stream_; }

 private:
  sim::Ports& ports_;
  std::unique_ptr<sim::Stream> stream_;
};

inline std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}
inline std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4U];
    out += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

using Texts = std::vector<std::string>;

inline const std::string kStop(1, '\0');
inline const std::string kCanceled(1, '\1');

inline std::string set(const std::string& key, const std::string& value) {
  return bytes_of(Message(Query::set).text(key).text(value));
}
inline std::string get(const std::string& key) {
  return bytes_of(Message(Query::get).text(key));
}
inline std::string add(const std::string& key, std::int64_t delta) {
  return bytes_of(Message(Query::add).text(key).i64(delta));
}
inline std::string append(const std::string& key, const std::string& value) {
  return bytes_of(Message(Query::append).text(key).text(value));
}
inline std::string compare_set(const std::string& key, const std::string& expected,
                               const std::string& desired) {
  return bytes_of(Message(Query::compare_set).text(key).text(expected).text(desired));
}
inline std::string multi_set(const std::string& key, const std::string& value) {
  return bytes_of(Message(Query::multi_set).u64(1).text(key).text(value));
}
inline std::string wait_for(const std::vector<std::string>& keys) {
  return list_of(Query::wait, keys);
}
inline std::string cancel() {
  return bytes_of(Message(Query::cancel_wait));
}
inline std::string barrier_at(const std::string& key, std::int64_t world_size) {
  return bytes_of(Message(Query::barrier).text(key).i64(world_size));
}
inline std::string push(const std::string& queue, const std::string& value) {
  return bytes_of(Message(Query::queue_push).text(queue).text(value));
}
inline std::string pop(const std::string& queue) {
  return bytes_of(Message(Query::queue_pop).text(queue));
}
inline std::string number_of_keys() {
  return bytes_of(Message(Query::get_num_keys));
}

/// Runs `body` against a fresh server.
inline void talk(const std::function<void(sim::Ports&)>& body) {
  StoreWorld world;
  world.client(body);
  world.run();
}

/// The answers to `requests`, sent one after the other on one connection.
inline Texts answers_to(const Texts& requests) {
  Texts out;
  talk([&](sim::Ports& ports) {
    RawClient client(ports);
    for (const std::string& request : requests) out.push_back(client.call(request));
  });
  return out;
}

}  // namespace hooke::model
