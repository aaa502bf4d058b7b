// Signals that come to a node of the legacy rendezvous.
#include "model/signals/signal_gate.h"
#include "properties/unit/model/rendezvous/legacy_etcd_handlers.h"

namespace hooke::model {
namespace {

/// Sends SIGTERM, which is caught, to the calling process after `span`.
void term_after(Ports& ports, sim::Duration span) {
  static_cast<void>(ports.processes.catch_signal(sim::Signal::term));
  ports.executor.spawn("term", [&ports, span] {
    sleep(ports, span);
    static_cast<void>(ports.processes.signal(ports.processes.self(), sim::Signal::term));
  });
}

class LegacyEtcdSignals : public LegacyEtcdHandlers {
 protected:
  /// a has the only seat for half a minute; b waits beside it, and gets SIGTERM meanwhile.
  void beside_a_full_version(const std::function<void(Ports&, RendezvousHandler&)>& b) {
    parameters_.max_nodes = 1;
    node("a", [](Ports& ports, RendezvousHandler& handler) {
      EXPECT_EQ(handler.next_rendezvous().round, 1);
      sleep(ports, 30s);
    });
    node("b", [b](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, 5s);
      term_after(ports, 10s);
      b(ports, handler);
    });
    world_.run_for(10min);
    EXPECT_EQ(done_, 2);
  }
};

TEST_F(LegacyEtcdSignals, are_swallowed_by_the_barrier) {  // S-L19
  beside_a_full_version([](Ports& ports, RendezvousHandler& handler) {
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    ports.executor.spawn("looks", [&ports, begin] {
      ports.executor.sleep_until(begin + 12s);
      EXPECT_FALSE(ports.processes.signal_pending()) << "no wait for etcd is deaf";
    });
    EXPECT_EQ(handler.next_rendezvous().round, 2);
    EXPECT_GT(ports.clock.monotonic_now() - begin, 20s);
  });
}

TEST_F(LegacyEtcdSignals, end_the_barrier_of_a_hardened_node) {
  parameters_.variant = Variant::hardened;
  beside_a_full_version([](Ports&, RendezvousHandler& handler) {
    EXPECT_THROW(handler.next_rendezvous(), SignalException);
  });
}

/// A node alone, whose signal has come when it shuts down.
class LegacyEtcdShutdown : public LegacyEtcdHandlers {
 protected:
  void told_to_go(const std::function<void(RendezvousHandler&)>& shuts_down) {
    parameters_.max_nodes = 1;
    node("a", [shuts_down](Ports& ports, RendezvousHandler& handler) {
      EXPECT_EQ(handler.next_rendezvous().round, 1);
      term_after(ports, 1s);
      sleep(ports, 2s);
      shuts_down(handler);
      EXPECT_FALSE(handler.is_closed());
    });
    world_.run_for(10min);
    EXPECT_EQ(done_, 1);
  }
};

TEST_F(LegacyEtcdShutdown, swallows_a_signal_and_closes_nothing_then) {  // S-L19
  told_to_go([](RendezvousHandler& handler) { EXPECT_FALSE(handler.shutdown()); });
}

TEST_F(LegacyEtcdShutdown, raises_a_signal_where_hardened) {
  parameters_.variant = Variant::hardened;
  told_to_go([](RendezvousHandler& handler) { EXPECT_THROW(handler.shutdown(), SignalException); });
}

}  // namespace
}  // namespace hooke::model
