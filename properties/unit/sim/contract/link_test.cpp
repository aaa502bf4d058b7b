// A link between processes, and what disturbing it does.
#include "contract_world.h"
#include "sim/port/sync.h"
#include "sim/real/link_proxy.h"

namespace hooke::contract {
namespace {

using Way = real::LinkProxy::Way;

/// Answers everything with itself.
class Echo final : public sim::AcceptHandler {
 public:
  explicit Echo(Ports& ports)
      : listener_(ports.network.listen(sim::PortNumber{0}, *this).value()) {}
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    auto served = std::make_unique<Served>(std::move(stream));
    served_.push_back(std::move(served));
  }
  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }

 private:
  struct Served final : sim::StreamHandler {
    explicit Served(std::unique_ptr<sim::Stream> given) : stream(std::move(given)) {
      stream->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      sim::Buffer answer;
      answer.append(received.take(received.size()));
      static_cast<void>(stream->write(std::move(answer)));
    }
    void on_end() override { stream->finish_writing(); }
    std::unique_ptr<sim::Stream> stream;
  };
  std::vector<std::unique_ptr<Served>> served_;
  std::unique_ptr<sim::Listener> listener_;
};

class Link : public PortContract {
 protected:
  void linked(const std::function<void(Ports&, real::LinkProxy&)>& body) {
    run([&](Ports& ports) {
      Echo echo(ports);
      real::LinkProxy link(ports, {place->own_name(), echo.port()});
      body(ports, link);
    });
  }
  std::unique_ptr<sim::Stream> connect(Ports& ports, const real::LinkProxy& link) {
    return ports.network.connect({place->own_name(), link.port()}, in(ports, 10s)).value();
  }
  static std::string asked(Ports& ports, sim::Stream& stream, const std::string& text,
                           sim::Duration timeout) {
    if (!stream.write(sim::Buffer(text))) return "<not sent>";
    auto answer = stream.read(in(ports, timeout));
    if (!answer) return "<" + std::string(to_string(answer.failure().fault)) + ">";
    return answer->empty() ? "<end>" : answer->take(answer->size()).bytes();
  }
};
INSTANTIATE_TEST_SUITE_P(In, Link, testing::Values("simulated", "real"), world_name);

TEST_P(Link, carries_bytes_and_their_end_both_ways) {
  linked([&](Ports& ports, real::LinkProxy& link) {
    const auto stream = connect(ports, link);
    EXPECT_EQ(asked(ports, *stream, "hello", 10s), "hello");
    EXPECT_EQ(asked(ports, *stream, "again", 10s), "again");
    stream->finish_writing();
    EXPECT_TRUE(stream->read(in(ports, 10s))->empty());
    EXPECT_FALSE(link.was_felt());
  });
}

TEST_P(Link, that_is_cut_holds_what_is_sent_until_it_is_mended) {
  linked([&](Ports& ports, real::LinkProxy& link) {
    const auto stream = connect(ports, link);
    EXPECT_EQ(asked(ports, *stream, "a", 10s), "a");
    link.cut(Way::there);
    EXPECT_EQ(asked(ports, *stream, "b", 50ms), "<timed out>");
    EXPECT_TRUE(link.was_felt());
    link.mend(Way::there);
    EXPECT_EQ(stream->read(in(ports, 10s))->take_bytes(1), "b");
    link.cut(Way::back);
    EXPECT_EQ(asked(ports, *stream, "c", 50ms), "<timed out>");
    link.mend(Way::back);
    EXPECT_EQ(stream->read(in(ports, 10s))->take_bytes(1), "c");
  });
}

TEST_P(Link, that_swallows_answers_leaves_its_client_without_them) {
  linked([&](Ports& ports, real::LinkProxy& link) {
    const auto stream = connect(ports, link);
    EXPECT_EQ(asked(ports, *stream, "a", 10s), "a");
    link.swallow(Way::back);
    EXPECT_EQ(asked(ports, *stream, "b", 50ms), "<timed out>");
    link.mend(Way::back);
    EXPECT_EQ(asked(ports, *stream, "c", 10s), "c");
  });
}

TEST_P(Link, that_is_reset_breaks_its_connections_and_takes_new_ones) {
  linked([&](Ports& ports, real::LinkProxy& link) {
    const auto stream = connect(ports, link);
    EXPECT_EQ(asked(ports, *stream, "a", 10s), "a");
    link.reset();
    EXPECT_EQ(to_string(stream->read(in(ports, 10s)).failure().fault), "connection reset");
    EXPECT_EQ(asked(ports, *connect(ports, link), "b", 10s), "b");
  });
}

TEST_P(Link, that_is_slow_takes_its_time) {
  linked([&](Ports& ports, real::LinkProxy& link) {
    const auto stream = connect(ports, link);
    EXPECT_EQ(asked(ports, *stream, "a", 10s), "a");
    const auto timed = [&](const std::string& text) {
      const auto begin = ports.clock.monotonic_now();
      EXPECT_EQ(asked(ports, *stream, text, 10s), text);
      return ports.clock.monotonic_now() - begin;
    };
    link.delay(30ms);
    EXPECT_GE(timed("b"), 60ms);
    link.delay(0ms);
    link.limit(1000);
    EXPECT_GE(timed(std::string(20, 'x')), 40ms);
  });
}

}  // namespace
}  // namespace hooke::contract
