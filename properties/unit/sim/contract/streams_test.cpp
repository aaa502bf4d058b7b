// Byte streams between processes of one machine.
#include "contract_world.h"
#include "sim/port/sync.h"

namespace hooke::contract {
namespace {

using world::AnsweringServer;

constexpr std::size_t kAnswerBytes = 64UL * 1024;

/// Serves the one stream that it accepts itself.
class OneStreamServer : public sim::AcceptHandler, public sim::StreamHandler {
 public:
  void on_accept(std::unique_ptr<sim::Stream> given) override {
    stream = std::move(given);
    stream->set_handler(*this);
  }
  void on_end() override {}
  std::unique_ptr<sim::Stream> stream;
};

class Streams : public PortContract {
 protected:
  /// Runs `body` with an answering server on an ephemeral port.
  void with_server(
      AnsweringServer::Answer answer,
      const std::function<void(Ports&, AnsweringServer&, const sim::Endpoint&)>& body) {
    run([&](Ports& ports) {
      AnsweringServer server(answer);
      auto listener = ports.network.listen(sim::PortNumber{0}, server);
      ASSERT_TRUE(listener.ok());
      body(ports, server, {place->own_name(), listener.value()->local().port});
    });
  }
  static std::unique_ptr<sim::Stream> dial(Ports& ports, const sim::Endpoint& to) {
    auto stream = ports.network.connect(to, in(ports, 10s));
    EXPECT_TRUE(stream.ok()) << (stream.ok() ? "" : stream.failure().detail);
    return stream.ok() ? std::move(stream).value() : nullptr;
  }
};
INSTANTIATE_TEST_SUITE_P(In, Streams, testing::Values("simulated", "real"), world_name);

TEST_P(Streams, carry_bytes_both_ways) {
  with_server(world::echo, [](Ports& ports, AnsweringServer&, const sim::Endpoint& to) {
    const auto stream = dial(ports, to);
    EXPECT_EQ(write_text(*stream, "hello"), "ok");
    EXPECT_EQ(read_text(*stream), "hello");
    EXPECT_EQ(stream->peer().port, to.port);
    EXPECT_NE(stream->local().port, sim::PortNumber{0});
  });
}

TEST_P(Streams, carry_megabytes_unchanged_while_the_reader_is_slow) {
  with_server(world::echo, [](Ports& ports, AnsweringServer&, const sim::Endpoint& to) {
    std::string text(8UL * 1024 * 1024, '\0');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 251);
    const auto stream = dial(ports, to);
    EXPECT_EQ(write_text(*stream, text), "ok");
    sleep(ports, 50ms);
    std::string got;
    while (got.size() < text.size()) {
      const std::string more = read_text(*stream, in(ports, 10s));
      ASSERT_NE(more, "<timed out>");
      got += more;
    }
    EXPECT_TRUE(got == text);
  });
}

TEST_P(Streams, a_read_gives_up_at_its_deadline_and_loses_nothing) {
  with_server(world::echo, [](Ports& ports, AnsweringServer&, const sim::Endpoint& to) {
    const auto stream = dial(ports, to);
    EXPECT_EQ(read_text(*stream, in(ports, 10ms)), "<timed out>");
    EXPECT_EQ(write_text(*stream, "late"), "ok");
    EXPECT_EQ(read_text(*stream), "late");
  });
}

TEST_P(Streams, the_end_of_one_direction_leaves_the_other_open) {
  class Server final : public OneStreamServer {
   public:
    void on_data(sim::Buffer& received) override { text += received.take_bytes(received.size()); }
    void on_end() override {
      static_cast<void>(stream->write(sim::Buffer(text + " and thanks")));
      stream.reset();
    }
    std::string text;
  };
  run([&](Ports& ports) {
    Server server;
    const auto listener = ports.network.listen(sim::PortNumber{0}, server);
    const auto stream = dial(ports, {place->own_name(), listener.value()->local().port});
    EXPECT_EQ(write_text(*stream, "all"), "ok");
    stream->finish_writing();
    EXPECT_EQ(write_text(*stream, "more"), "<closed>");
    std::string got;
    for (std::string more; more != "<end>"; got += more) more = read_text(*stream, in(ports, 10s));
    EXPECT_EQ(got, "all and thanks<end>");
  });
}

TEST_P(Streams, what_was_written_before_an_orderly_close_arrives) {
  class Server final : public sim::AcceptHandler {
   public:
    void on_accept(std::unique_ptr<sim::Stream> stream) override {
      static_cast<void>(stream->write(sim::Buffer(std::string(4UL * 1024 * 1024, 'x'))));
    }
  };
  run([&](Ports& ports) {
    Server server;
    const auto listener = ports.network.listen(sim::PortNumber{0}, server);
    const auto stream = dial(ports, {place->own_name(), listener.value()->local().port});
    std::size_t size = 0;
    for (;;) {
      auto got = stream->read(in(ports, 10s));
      ASSERT_TRUE(got.ok()) << got.failure().detail;
      if (got->empty()) break;
      size += got->size();
    }
    EXPECT_EQ(size, 4UL * 1024 * 1024);
  });
}

TEST_P(Streams, a_reset_breaks_the_peers_read) {
  with_server([](const std::string&) { return ""; },
              [](Ports& ports, AnsweringServer& server, const sim::Endpoint& to) {
                const auto stream = dial(ports, to);
                EXPECT_EQ(write_text(*stream, "x"), "ok");
                sleep(ports, 20ms);
                server.stream(0).reset();
                EXPECT_EQ(read_text(*stream, in(ports, 10s)), "<connection reset>");
              });
}

TEST_P(Streams, the_end_of_a_client_is_told_once) {
  with_server(world::echo, [](Ports& ports, AnsweringServer& server, const sim::Endpoint& to) {
    dial(ports, to).reset();
    for (int i = 0; i < 200 && server.ended == 0; ++i) sleep(ports, 5ms);
    sleep(ports, 20ms);
    EXPECT_EQ(server.accepted, 1);
    EXPECT_EQ(server.ended, 1);
  });
}

TEST_P(Streams, a_handler_may_destroy_its_stream_from_inside) {
  class Server final : public OneStreamServer {
   public:
    void on_data(sim::Buffer& received) override {
      received.drop(received.size());
      stream.reset();
    }
    void on_end() override { ADD_FAILURE() << "a stream that is gone has no end to tell"; }
  };
  run([&](Ports& ports) {
    Server server;
    const auto listener = ports.network.listen(sim::PortNumber{0}, server);
    const auto stream = dial(ports, {place->own_name(), listener.value()->local().port});
    EXPECT_EQ(write_text(*stream, "bye"), "ok");
    EXPECT_EQ(read_text(*stream, in(ports, 10s)), "<end>");
  });
}

TEST_P(Streams, a_handler_may_leave_requests_while_its_answers_back_up) {
  class Server final : public OneStreamServer {
   public:
    void on_data(sim::Buffer& received) override {
      for (; !received.empty() && !stream->backed_up(); received.drop(1)) {
        static_cast<void>(stream->write(sim::Buffer(std::string(kAnswerBytes, 'x'))));
      }
    }
  };
  run([&](Ports& ports) {
    constexpr std::size_t kRequests = 300;
    Server server;
    const auto listener = ports.network.listen(sim::PortNumber{0}, server);
    const auto stream = dial(ports, {place->own_name(), listener.value()->local().port});
    EXPECT_EQ(write_text(*stream, std::string(kRequests, '?')), "ok");
    sleep(ports, 50ms);
    std::size_t size = 0;
    while (size < kRequests * kAnswerBytes) {
      auto got = stream->read(in(ports, 10s));
      ASSERT_TRUE(got.ok()) << got.failure().detail << " after " << size;
      ASSERT_FALSE(got->empty()) << size;
      size += got->size();
    }
    EXPECT_EQ(size, kRequests * kAnswerBytes);
  });
}

TEST_P(Streams, many_clients_are_served_by_one_thread) {
  with_server(world::echo, [](Ports& ports, AnsweringServer& server, const sim::Endpoint& to) {
    sim::Scope scope(ports.executor);
    int answered = 0;
    for (int i = 0; i < 200; ++i) {
      scope.spawn("client", [&, i] {
        const auto stream = dial(ports, to);
        EXPECT_EQ(write_text(*stream, std::to_string(i)), "ok");
        answered += read_text(*stream, in(ports, 10s)) == std::to_string(i) ? 1 : 0;
      });
    }
    scope.join();
    EXPECT_EQ(answered, 200);
    EXPECT_EQ(server.accepted, 200);
  });
}

TEST_P(Streams, connecting_without_a_listener_is_refused) {
  run([&](Ports& ports) {
    sim::PortNumber port;
    {
      AnsweringServer server(world::echo);
      port = ports.network.listen(sim::PortNumber{0}, server).value()->local().port;
    }
    const auto stream = ports.network.connect({place->own_name(), port}, in(ports, 10s));
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(to_string(stream.failure().fault), "connection refused");
  });
}

TEST_P(Streams, a_name_without_address_is_said_to_be_so) {
  run([](Ports& ports) {
    const auto stream =
        ports.network.connect({"no-such-host.invalid", sim::PortNumber{1}}, in(ports, 60s));
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(to_string(stream.failure().fault), "name cannot be resolved");
    EXPECT_FALSE(ports.network.resolve("no-such-host.invalid").ok());
  });
}

TEST_P(Streams, a_port_has_one_listener_at_a_time) {
  run([](Ports& ports) {
    AnsweringServer server(world::echo);
    auto first = ports.network.listen(sim::PortNumber{0}, server);
    const sim::PortNumber port = first.value()->local().port;
    const auto second = ports.network.listen(port, server);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(to_string(second.failure().fault), "address already in use");
    first.value().reset();
    EXPECT_TRUE(ports.network.listen(port, server).ok());
  });
}

TEST_P(Streams, a_machine_knows_its_names) {
  run([&](Ports& ports) {
    EXPECT_FALSE(ports.network.host_name().empty());
    EXPECT_FALSE(ports.network.fully_qualified_name().empty());
    const auto addresses = ports.network.resolve(place->own_name());
    ASSERT_TRUE(addresses.ok());
    EXPECT_FALSE(addresses.value().empty());
    EXPECT_TRUE(ports.network.canonical_name(place->own_name()).ok());
  });
}

// ---- socket files

class LocalStreams : public PortContract {
 protected:
  /// A path in a directory that is there.
  std::string socket_path(Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    return place->directory() + "/socket";
  }
};
INSTANTIATE_TEST_SUITE_P(In, LocalStreams, testing::Values("simulated", "real"), world_name);

TEST_P(LocalStreams, carry_bytes_both_ways) {
  run([&](Ports& ports) {
    const std::string path = socket_path(ports);
    AnsweringServer server(world::echo);
    const auto listener = ports.network.listen_local(path, server);
    ASSERT_TRUE(listener.ok()) << listener.failure().detail;
    EXPECT_EQ(listener.value()->local(), (sim::Endpoint{path, {}}));
    EXPECT_TRUE(ports.files.exists(path));
    auto stream = ports.network.connect_local(path, in(ports, 10s));
    ASSERT_TRUE(stream.ok()) << stream.failure().detail;
    EXPECT_EQ(write_text(**stream, "hello"), "ok");
    EXPECT_EQ(read_text(**stream), "hello");
    EXPECT_EQ((*stream)->peer(), (sim::Endpoint{path, {}}));
    EXPECT_EQ((*stream)->local(), sim::Endpoint{}) << "a client has no file";
  });
}

TEST_P(LocalStreams, a_path_is_taken_by_whatever_lives_there) {
  run([&](Ports& ports) {
    const std::string path = socket_path(ports);
    AnsweringServer server(world::echo);
    auto listener = ports.network.listen_local(path, server);
    ASSERT_TRUE(listener.ok());
    EXPECT_EQ(fault_of(ports.network.listen_local(path, server)), "address already in use");
    *listener = nullptr;
    EXPECT_TRUE(ports.files.exists(path));
    EXPECT_EQ(fault_of(ports.network.connect_local(path, in(ports, 10s))), "connection refused");
    EXPECT_EQ(fault_of(ports.network.listen_local(path, server)), "ok") << "nothing listens there";
    ASSERT_TRUE(ports.files.remove(path).ok());
    EXPECT_EQ(fault_of(ports.network.connect_local(path, in(ports, 10s))), "not found");
    EXPECT_EQ(fault_of(ports.network.listen_local(path, server)), "ok");
    static_cast<void>(ports.files.remove(path));
    static_cast<void>(ports.files.write(path, "a file"));
    EXPECT_EQ(fault_of(ports.network.listen_local(path, server)), "address already in use");
    EXPECT_EQ(fault_of(ports.network.connect_local(path, in(ports, 10s))), "connection refused");
    EXPECT_EQ(ports.files.read(path).value(), "a file");
  });
}

TEST_P(LocalStreams, a_socket_file_is_no_file_to_read_or_write) {
  run([&](Ports& ports) {
    const std::string path = socket_path(ports);
    AnsweringServer server(world::echo);
    const auto listener = ports.network.listen_local(path, server);
    EXPECT_EQ(fault_of(ports.files.read(path)), "denied");
    EXPECT_EQ(fault_of(ports.files.append(path, "x")), "denied");
  });
}

TEST_P(LocalStreams, a_listener_without_its_path_is_found_by_no_client) {
  run([&](Ports& ports) {
    const std::string path = socket_path(ports);
    AnsweringServer first(world::echo);
    AnsweringServer second([](const std::string&) { return "second"; });
    const auto old = ports.network.listen_local(path, first);
    ASSERT_TRUE(ports.files.remove(path).ok());
    const auto listener = ports.network.listen_local(path, second);
    ASSERT_TRUE(listener.ok());
    auto stream = ports.network.connect_local(path, in(ports, 10s));
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(write_text(**stream, "?"), "ok");
    EXPECT_EQ(read_text(**stream), "second");
  });
}

TEST_P(LocalStreams, paths_that_cannot_be) {
  run([&](Ports& ports) {
    AnsweringServer server(world::echo);
    const std::string directory = place->directory() + "/";
    static_cast<void>(ports.files.make_directories(place->directory()));
    const std::string longest =
        directory + std::string(sim::kSocketPathBytesMax - directory.size(), 'x');
    const auto listener = ports.network.listen_local(longest, server);
    ASSERT_TRUE(listener.ok()) << listener.failure().detail;
    EXPECT_EQ(listener.value()->local().host, longest);
    EXPECT_EQ(fault_of(ports.network.connect_local(longest, in(ports, 10s))), "ok");
    EXPECT_EQ(fault_of(ports.network.listen_local(longest + "x", server)), "denied");
    EXPECT_EQ(fault_of(ports.network.connect_local(longest + "x", in(ports, 10s))), "denied");
    EXPECT_EQ(fault_of(ports.network.listen_local(directory + "none/s", server)), "not found");
    EXPECT_EQ(fault_of(ports.network.connect_local(directory + "none/s", in(ports, 10s))),
              "not found");
  });
}

TEST(RealSocketFile, is_its_owners_alone) {
  RealPlace place;
  place.run([&](Ports& ports) {
    AnsweringServer server(world::echo);
    const std::string path = place.directory() + "/socket";
    const auto listener = ports.network.listen_local(path, server);
    ASSERT_TRUE(listener.ok());
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
  });
}

}  // namespace
}  // namespace hooke::contract
