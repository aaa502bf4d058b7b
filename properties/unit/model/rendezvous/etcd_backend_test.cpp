// What the fences of the etcd backends hold where etcd itself begins anew.
#include "model/rendezvous/backends/etcd_backend.h"

#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/etcd/v3_server.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/etcd_factory.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using sim::Ports;

constexpr sim::PortNumber kEtcdPort{2379};

EtcdOptions options() {
  return {{{"n", kEtcdPort}, std::nullopt}, "", "", std::chrono::seconds(10)};
}

/// Whether a write under the token of a state is done when etcd has lost that, and has come to the
/// same number again with another's state.
template <class Server, class Client, class MakeBackend>
bool overwrites_another(MakeBackend make) {
  std::optional<bool> written;
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](Ports& ports) {
    auto server = std::make_unique<Server>(ports, kEtcdPort);
    auto client = std::make_shared<Client>(ports, options());
    const auto mine = make(ports, client), other = make(ports, client);
    const auto before = mine->set_state(Value("before"), std::nullopt);
    server = nullptr;
    server = std::make_unique<Server>(ports, kEtcdPort);
    EXPECT_FALSE(other->get_state()) << "by a connection of its own time";
    const auto there = other->set_state(Value("another's"), std::nullopt);
    EXPECT_EQ(before->token, there->token);
    const auto after = mine->set_state(Value("after"), before->token);
    EXPECT_EQ(after->bytes, after->has_set ? Value("after") : Value("another's"));
    written = after->has_set;
    return 0;
  });
  world.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(written.has_value());
  return written.value_or(true);
}

TEST(EtcdV2Backend, overwrites_no_other_state_of_the_same_index_where_hardened) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    const bool overwrites = overwrites_another<EtcdV2Server, EtcdV2Client>(
        [&](Ports&, auto client) { return make_etcd_v2_backend(client, "job", {}, variant); });
    EXPECT_EQ(overwrites, variant != Variant::hardened);
  }
}

/// What becomes of a write over a state that has vanished: "written", "refused", or "told" that
/// nothing is there.
template <class Server, class Client, class Make>
std::string write_over_the_vanished(Make make) {
  std::string outcome = "none";
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](Ports& ports) {
    const auto misbehaviour = std::make_shared<EtcdMisbehaviour>();
    const Server server(ports, kEtcdPort, misbehaviour);
    const auto backend = make(ports, std::make_shared<Client>(ports, options()));
    const auto before = backend->set_state(Value("before"), std::nullopt);
    std::uint64_t expired = 0;
    misbehaviour->expire(expired);
    try {
      const auto after = backend->set_state(Value("after"), before->token);
      outcome = after ? "written" : "told";
      EXPECT_EQ(backend->get_state().has_value(), after.has_value());
    } catch (const RendezvousConnectionError&) {
      outcome = "refused";
    }
    EXPECT_EQ(expired, 1U);
    return 0;
  });
  world.run_for(std::chrono::minutes(1));
  return outcome;
}

TEST(EtcdBackends, tell_of_a_state_that_has_vanished_under_its_token_where_hardened) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    const bool hardened = variant == Variant::hardened;
    const auto v2 = [&](Ports&, auto client) {
      return make_etcd_v2_backend(client, "job", {}, variant);
    };
    EXPECT_EQ((write_over_the_vanished<EtcdV2Server, EtcdV2Client>(v2)),
              hardened ? "told" : "refused");
    const auto v3 = [&](Ports& ports, auto client) {
      return make_etcd_v3_backend(ports.clock, client, "job", {}, variant);
    };
    EXPECT_EQ((write_over_the_vanished<EtcdV3Server, EtcdV3Client>(v3)),
              hardened ? "told" : "written");
  }
}

/// What a node is told of a write that etcd does, when that many answers are lost.
std::string told_of_a_write(Variant variant, std::int64_t lost_answers) {
  std::string outcome = "none";
  world::TestWorld world;
  const sim::NodeId etcd = world.node("n");
  world.start(etcd, "server", [](Ports& ports) {
    const EtcdV2Server server(ports, kEtcdPort);
    world::park_for_ever(ports);
    return 0;
  });
  world.start(world.node("a"), "test", [&](Ports& ports) {
    world::sleep(ports, std::chrono::seconds(1));
    RendezvousParameters parameters;
    parameters.endpoint = "n:2379";
    parameters.variant = variant;
    const auto backend =
        make_etcd_v2_backend(connect_etcd_v2(ports, parameters), "job", {}, variant);
    const auto before = backend->set_state(Value("before"), std::nullopt);
    world::sleep(ports, std::chrono::seconds(2));
    try {
      const auto after = backend->set_state(Value("after"), before->token);
      outcome = after->has_set ? "set" : after->in_doubt ? "denied, in doubt" : "denied";
    } catch (const RendezvousConnectionError&) {
      outcome = "lost";
    }
    EXPECT_EQ(backend->get_state()->bytes, Value("after"));
    return 0;
  });
  const auto lose = [&](world::Fault& fault) {
    fault.node = etcd;
    fault.port = kEtcdPort;
    fault.amount = lost_answers;
  };
  if (lost_answers > 0) {
    world.inject_at(std::chrono::seconds(2), world::FaultKind::service_reply_lost, lose);
  }
  world.run_for(std::chrono::minutes(1));
  return outcome;
}

TEST(EtcdV2Backend, denies_a_write_whose_answer_was_lost_unless_hardened) {  // S-L20
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x}) {
    EXPECT_EQ(told_of_a_write(variant, 0), "set");
    EXPECT_EQ(told_of_a_write(variant, 1), "denied, in doubt");
    EXPECT_EQ(told_of_a_write(variant, 3), "denied, in doubt");
    EXPECT_EQ(told_of_a_write(variant, 4), "lost");
  }
  EXPECT_EQ(told_of_a_write(Variant::hardened, 1), "set");
}

TEST(EtcdV3Backend, overwrites_no_other_state_of_the_same_revision_where_hardened) {
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    const bool overwrites =
        overwrites_another<EtcdV3Server, EtcdV3Client>([&](Ports& ports, auto client) {
          return make_etcd_v3_backend(ports.clock, client, "job", {}, variant);
        });
    EXPECT_EQ(overwrites, variant != Variant::hardened);
  }
}

}  // namespace
}  // namespace hooke::model
