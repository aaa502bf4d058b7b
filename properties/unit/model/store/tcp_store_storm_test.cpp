// Nonsense at a store: whole frames, frames cut anywhere, frames with a byte changed, from clients
// of both generations that come and go. HOOKE_STORM_FRAMES says how many frames.
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/store/kinds/tcp_stores.h"
#include "properties/fuzz/lone_server.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace lone_server;  // NOLINT

constexpr std::int64_t kFramesPerStore = 100'000;

std::int64_t frames_wanted() {
  const char* const text = std::getenv("HOOKE_STORM_FRAMES");
  return text == nullptr ? 100'000 : std::atoll(text);
}

class Storm {
 public:
  explicit Storm(sim::Random& random) : random_(random) {}

  /// The bytes of one frame, sound three times out of four.
  std::string frame(Variant dialect) {
    sim::Buffer message = any(dialect).take();
    std::string bytes = message.take_bytes(message.size());
    if (below(4) == 0) {
      const std::size_t at = below(bytes.size());
      if (below(2) == 0) {
        bytes.resize(at);
      } else {
        bytes[at] = static_cast<char>(below(256));
      }
    }
    return bytes;
  }
  std::uint64_t below(std::uint64_t bound) { return random_.below("storm", bound); }

 private:
  Message any(Variant dialect) {
    const bool old = dialect == Variant::torch_1_13;
    const Query query = static_cast<Query>(1 + below(old ? 8 : 18));
    Message message(query, dialect);
    const auto key = [&] { return "k" + std::to_string(below(20)); };
    const auto value = [&] { return sim::Value(std::string(below(40), 'v')); };
    switch (query) {
      case Query::set:
      case Query::append:
      case Query::queue_push: return std::move(message.key(key()).value(value()));
      case Query::compare_set: return std::move(message.key(key()).value(value()).value(value()));
      case Query::add:
      case Query::barrier:
        return std::move(message.key(key()).i64(static_cast<std::int64_t>(below(5))));
      case Query::check:
      case Query::wait:
      case Query::multi_get: {
        const std::uint64_t count = below(4);
        message.u64(count);
        for (std::uint64_t i = 0; i < count; ++i) message.key(key());
        return message;
      }
      case Query::multi_set: {
        const std::uint64_t count = below(4);
        message.u64(count);
        for (std::uint64_t i = 0; i < count; ++i) message.key(key()).value(value());
        return message;
      }
      case Query::ping: return std::move(message.u32(7));
      case Query::get_num_keys:
      case Query::cancel_wait:
      case Query::list_keys:
      case Query::validate: return message;
      case Query::get:
      case Query::delete_key:
      case Query::queue_pop:
      case Query::queue_len: return std::move(message.key(key()));
    }
    return message;
  }

  sim::Random& random_;
};

/// Sends so many frames to a fresh store; how many connections it broke off.
std::int64_t storm_at_a_store(sim::Ports& ports, std::int64_t frames) {
  Network network;
  sim::Ports there{ports.clock, ports.executor, network,     ports.processes,
                   ports.files, ports.random,   ports.trace, ports.fault_point};
  const auto server = serve_tcp_store(there, sim::PortNumber{1}, "storm");
  Storm storm(ports.random);
  struct Client {
    std::shared_ptr<Connection> connection;
    Variant dialect = Variant::torch_2_x;
  };
  std::vector<Client> clients(16);
  std::int64_t cut_off = 0;
  for (; frames > 0; --frames) {
    Client& client = clients[storm.below(clients.size())];
    if (client.connection == nullptr || !client.connection->is_open) {
      client = {network.connect(), storm.below(3) == 0 ? Variant::torch_1_13 : Variant::torch_2_x};
      if (client.dialect == Variant::torch_2_x) {
        send(*client.connection, Message(Query::validate).u32(kValidateMagic).take());
      }
    }
    send(*client.connection, sim::Buffer(storm.frame(client.dialect)));
    if (!client.connection->is_open) ++cut_off;
    client.connection->from_server = {};
    if (storm.below(1000) == 0 && client.connection->is_open) client.connection->server->on_end();
  }
  EXPECT_TRUE(serves_as_ever(network));
  return cut_off;
}

TEST(TcpStoreStorm, outlives_any_frames_and_serves_the_next_client_as_ever) {
  world::TestWorld world;
  world.start(world.node("s"), "storm", [](sim::Ports& ports) {
    for (std::int64_t left = frames_wanted(); left > 0; left -= kFramesPerStore) {
      EXPECT_GT(storm_at_a_store(ports, std::min(left, kFramesPerStore)), 0)
          << "none of it was nonsense";
    }
    return 0;
  });
  world.run_for(std::chrono::hours(1));
}

}  // namespace
}  // namespace hooke::model
