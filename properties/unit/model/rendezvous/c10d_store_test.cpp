// The connection to the store of the c10d backend, and what comes while it is tried.
#include "model/hardened/c10d/hardened_c10d_store.h"
#include "model/rendezvous/backends/c10d_backend.h"
#include "model/signals/signal_gate.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

/// How a connection to a machine without a store ends.
std::string failed_connection(bool interrupted) {
  world::TestWorld test;
  std::string how = "connected";
  const sim::NodeId node = test.node("a");
  test.node("b");
  const sim::Pid agent = test.start(node, "agent", [&](sim::Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(sim::Signal::int_));
    RendezvousParameters parameters;
    parameters.backend = "c10d";
    parameters.endpoint = "b:29400";
    parameters.run_id = "job";
    parameters.config = {{"read_timeout", "5"}};
    try {
      static_cast<void>(C10dStoreCreation(ports, parameters).create());
    } catch (const SignalException& error) {
      how = error.what();
    } catch (const RendezvousConnectionError& error) {
      how = error.class_name();
    }
    return 0;
  });
  if (interrupted) {
    static_cast<void>(test.inject_at(std::chrono::seconds(1), world::FaultKind::process_signal,
                                     [&](world::Fault& fault) {
                                       fault.node = node;
                                       fault.pid = agent;
                                       fault.signal = sim::Signal::int_;
                                     }));
  }
  test.run();
  return how;
}

TEST(C10dStore, that_is_not_there_is_an_error_of_the_rendezvous) {
  EXPECT_EQ(failed_connection(false), "RendezvousConnectionError");
}

/// PyTorch's call does not hear a signal; the interpreter does before it raises the error.
TEST(C10dStore, is_given_up_for_a_signal_that_came_meanwhile) {
  EXPECT_EQ(failed_connection(true), "Process 100 got signal: 2");
}

TEST(C10dStore, that_was_handed_on_keeps_what_it_holds) {
  world::TestWorld test;
  const sim::NodeId node = test.node("a");
  std::vector<bool> found;
  test.start(node, "agent", [&](sim::Ports& ports) {
    RendezvousParameters parameters;
    parameters.backend = "c10d";
    parameters.endpoint = "elsewhere:29400";  // names may have changed meanwhile
    parameters.run_id = "job";
    parameters.config = {{"is_host", "1"}};
    parameters.variant = Variant::hardened;
    C10dStore first = HardenedC10dStoreCreation(ports, parameters).create();
    first.store->set("key", sim::Value(std::string("value")));
    parameters.config.clear();
    parameters.served = std::move(first.server);
    const C10dStore second = HardenedC10dStoreCreation(ports, parameters).create();
    found.push_back(second.server == parameters.served);
    found.push_back(second.store->check({"key"}));
    return 0;
  });
  test.run();
  EXPECT_EQ(found, (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace hooke::model
