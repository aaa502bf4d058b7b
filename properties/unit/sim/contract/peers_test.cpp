// Which users may connect, and which of them a server can tell has connected.
#include <unistd.h>

#include "contract_world.h"

namespace hooke::contract {
namespace {

/// Notes of each connection whether its peer is of the server's user, after a moment.
class Doorman final : public sim::AcceptHandler, public sim::StreamHandler {
 public:
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    streams.push_back(std::move(stream));
    streams.back()->set_handler(*this);
  }
  void on_data(sim::Buffer&) override {}
  void on_end() override {}
  std::vector<std::unique_ptr<sim::Stream>> streams;
};

class Peers : public PortContract {};
INSTANTIATE_TEST_SUITE_P(In, Peers, testing::Values("simulated", "real"), world_name);

TEST_P(Peers, of_the_same_user_are_known_by_port_and_by_socket_file) {
  run([&](Ports& ports) {
    static_cast<void>(ports.files.make_directories(place->directory()));
    Doorman doorman;
    const auto port = ports.network.listen(sim::PortNumber{0}, doorman);
    const auto file = ports.network.listen_local(place->directory() + "/socket", doorman);
    ASSERT_TRUE(port.ok() && file.ok());
    const auto by_port =
        ports.network.connect({place->own_name(), port.value()->local().port}, in(ports, 10s));
    const auto by_file =
        ports.network.connect_local(place->directory() + "/socket", in(ports, 10s));
    ASSERT_TRUE(by_port.ok() && by_file.ok());
    sleep(ports, 50ms);
    ASSERT_EQ(doorman.streams.size(), 2U);
    EXPECT_TRUE(doorman.streams[0]->peer_is_of_this_user());
    EXPECT_TRUE(doorman.streams[1]->peer_is_of_this_user());
  });
}

TEST_P(Peers, find_a_loopback_port_by_the_name_that_only_their_machine_can_mean) {
  run([&](Ports& ports) {
    Doorman doorman;
    const auto port = ports.network.listen_loopback(sim::PortNumber{0}, doorman);
    ASSERT_TRUE(port.ok());
    for (const char* name : {"localhost", "127.0.0.1"}) {
      EXPECT_EQ(fault_of(ports.network.connect({name, port.value()->local().port}, in(ports, 10s))),
                "ok");
    }
  });
}

TEST(RealPeers, of_another_address_do_not_reach_a_loopback_port) {
  RealPlace place;
  place.run([&](Ports& ports) {
    Doorman doorman;
    const auto port = ports.network.listen_loopback(sim::PortNumber{0}, doorman);
    ASSERT_TRUE(port.ok());
    EXPECT_EQ(
        fault_of(ports.network.connect({"127.0.0.2", port.value()->local().port}, in(ports, 10s))),
        "connection refused");
  });
}

/// Connects as the user `nobody` to 127.0.0.1 (or mapped into IPv6 by bash, as it likes).
sim::Outcome<sim::Pid> connect_as_nobody(Ports& ports, sim::PortNumber port, const char* then) {
  sim::SpawnRequest request;
  request.argv = {"setpriv",
                  "--reuid=65534",
                  "--clear-groups",
                  "bash",
                  "-c",
                  "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port.value) + "; " + then};
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  return ports.processes.spawn(request);
}

TEST(RealPeers, of_another_user_are_told_apart_also_when_they_have_gone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  RealPlace place;
  place.run([&](Ports& ports) {
    Doorman doorman;
    const auto listener = ports.network.listen(sim::PortNumber{0}, doorman);
    ASSERT_TRUE(listener.ok());
    const sim::PortNumber port = listener.value()->local().port;
    const auto stays = connect_as_nobody(ports, port, "read -u 3");
    const auto goes = connect_as_nobody(ports, port, "exit 0");
    ASSERT_TRUE(stays.ok() && goes.ok());
    ASSERT_TRUE(ports.processes.wait(goes.value(), in(ports, 10s)));
    for (int i = 0; i < 100 && doorman.streams.size() < 2; ++i) sleep(ports, 50ms);
    ASSERT_EQ(doorman.streams.size(), 2U);
    for (const auto& stream : doorman.streams) EXPECT_FALSE(stream->peer_is_of_this_user());
    static_cast<void>(ports.processes.signal_group(stays.value(), sim::Signal::kill));
    static_cast<void>(ports.processes.wait(stays.value(), in(ports, 10s)));
  });
}

/// A connection with an answer of that many bytes that its peer does not read.
void answer_into_the_void(Ports& ports, const sim::Endpoint& to, Doorman& doorman,
                          std::vector<std::unique_ptr<sim::Stream>>& peers, std::size_t bytes) {
  const std::size_t before = doorman.streams.size();
  peers.push_back(std::move(ports.network.connect(to, in(ports, 10s))).value());
  for (int i = 0; i < 100 && doorman.streams.size() == before; ++i) sleep(ports, 10ms);
  ASSERT_GT(doorman.streams.size(), before);
  static_cast<void>(doorman.streams.back()->write(sim::Buffer(std::string(bytes, 'x'))));
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd"), end;
  return static_cast<std::size_t>(std::distance(begin, end));
}

TEST(RealPeers, that_read_nothing_of_the_last_words_are_let_go_of) {
  RealPlace place;
  place.run([&](Ports& ports) {
    Doorman doorman;
    const auto listener = ports.network.listen(sim::PortNumber{0}, doorman);
    ASSERT_TRUE(listener.ok());
    const sim::Endpoint to{"127.0.0.1", listener.value()->local().port};
    std::vector<std::unique_ptr<sim::Stream>> peers;
    // In time.
    answer_into_the_void(ports, to, doorman, peers, 32UL << 20U);
    const std::size_t open = open_descriptors();
    doorman.streams.clear();
    EXPECT_EQ(open_descriptors(), open) << "what is left to say is still said";
    sleep(ports, 20s);
    EXPECT_EQ(open_descriptors(), open - 1);
    // And in number: 64 MiB together.
    for (int i = 0; i < 6; ++i) answer_into_the_void(ports, to, doorman, peers, 32UL << 20U);
    const std::size_t open_again = open_descriptors();
    doorman.streams.clear();
    EXPECT_EQ(open_descriptors(), open_again - 4);
  });
}

}  // namespace
}  // namespace hooke::contract
