// A real etcd: as the place of the shared state, as a store, and when it is slow, gone, restarted or
// has forgotten.
#include <algorithm>
#include <csignal>
#include <fstream>

#include "job.h"
#include "model/etcd/embedded_server.h"
#include "model/etcd/v2_store.h"
#include "model/etcd/v3_store.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/etcd_factory.h"
#include "sim/port/sync.h"
#include "sim/real/link_proxy.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using model::Value;

/// Version of etcd's API.
class Etcd : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
  }

  /// Runs `body` beside a fresh etcd.
  void with_etcd(const std::function<void(Ports&, model::EmbeddedEtcd&, const fs::path&)>& body) {
    run([&](Ports& ports, const fs::path& directory) {
      model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
      body(ports, etcd, directory);
      etcd.stop();
    });
  }

  static model::RendezvousParameters parameters(std::uint16_t port, sim::Duration read_timeout) {
    model::RendezvousParameters out;
    out.backend = GetParam() == 2 ? "etcd-v2" : "etcd-v3";
    out.endpoint = "localhost:" + std::to_string(port);
    out.run_id = "job";
    out.config["read_timeout"] = std::to_string(read_timeout / 1ms) + "ms";
    return out;
  }
  static std::unique_ptr<model::RendezvousBackend> backend(
      Ports& ports, const model::RendezvousParameters& parameters) {
    if (GetParam() == 2) {
      return model::make_etcd_v2_backend(model::connect_etcd_v2(ports, parameters),
                                         parameters.run_id, {}, parameters.variant);
    }
    return model::make_etcd_v3_backend(
        ports.clock,
        model::connect_etcd<model::EtcdV3Client>(ports, model::etcd_options(parameters)),
        parameters.run_id, {}, parameters.variant);
  }
  static std::unique_ptr<model::RendezvousBackend> backend(Ports& ports, std::uint16_t port,
                                                           sim::Duration read_timeout = 60s) {
    return backend(ports, parameters(port, read_timeout));
  }
  static std::shared_ptr<model::Store> store(Ports& ports, std::uint16_t port) {
    const model::RendezvousParameters p = parameters(port, 60s);
    if (GetParam() == 2) {
      return model::make_etcd_v2_store(ports, model::connect_etcd_v2(ports, p), "/store");
    }
    return model::make_etcd_v3_store(
        ports, model::connect_etcd<model::EtcdV3Client>(ports, model::etcd_options(p)), "/store/");
  }
};

std::string version_name(const testing::TestParamInfo<int>& version) {
  return "v" + std::to_string(version.param);
}
INSTANTIATE_TEST_SUITE_P(, Etcd, testing::Values(2, 3), version_name);

TEST_P(Etcd, keeps_the_state_behind_a_fence) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    const auto one = backend(ports, etcd.endpoint().port.value);
    const auto other = backend(ports, etcd.endpoint().port.value);
    EXPECT_FALSE(one->get_state());
    const auto first = one->set_state(Value("first"), std::nullopt);
    ASSERT_TRUE(first && first->has_set);
    // A client that knows of no state does not overwrite one.
    const auto lost = other->set_state(Value("also first"), std::nullopt);
    ASSERT_TRUE(lost);
    EXPECT_FALSE(lost->has_set);
    EXPECT_EQ(lost->bytes.bytes(), "first");
    const auto second = other->set_state(Value("second"), lost->token);
    ASSERT_TRUE(second && second->has_set);
    const auto late = one->set_state(Value("late"), first->token);
    ASSERT_TRUE(late);
    EXPECT_FALSE(late->has_set);
    EXPECT_EQ(late->bytes.bytes(), "second");
    const auto stored = one->get_state();
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->bytes.bytes(), "second");
    EXPECT_EQ(stored->token, second->token);
    const auto foreign = one->set_state(Value("x"), Value("no number"));
    ASSERT_TRUE(foreign);
    EXPECT_FALSE(foreign->has_set);
  });
}

/// By quorum, and with the bytes in the fence.
TEST_P(Etcd, keeps_the_state_behind_a_hardened_fence) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    model::RendezvousParameters hardened = parameters(etcd.endpoint().port.value, 60s);
    hardened.variant = model::Variant::hardened;
    const auto one = backend(ports, hardened);
    const auto other = backend(ports, etcd.endpoint().port.value);
    EXPECT_FALSE(one->get_state());
    const auto first = one->set_state(Value("first"), std::nullopt);
    ASSERT_TRUE(first && first->has_set);
    EXPECT_EQ(one->get_state()->token, first->token) << "to read writes nothing";
    EXPECT_EQ(other->get_state()->token, first->token);
    const auto second = one->set_state(Value("second"), first->token);
    ASSERT_TRUE(second && second->has_set);
    const auto third = other->set_state(Value("third"), second->token);
    ASSERT_TRUE(third && third->has_set);
    const auto late = one->set_state(Value("late"), second->token);
    ASSERT_TRUE(late);
    EXPECT_FALSE(late->has_set);
    EXPECT_EQ(late->bytes.bytes(), "third");
    EXPECT_EQ(one->get_state()->bytes.bytes(), "third");
    EXPECT_TRUE(one->set_state(Value("fourth"), late->token)->has_set);
  });
}

/// Over v2 only hardened: PyTorch's backend does not (EtcdFaults).
TEST_P(Etcd, tells_whether_a_write_happened_although_its_answer_was_lost) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    real::LinkProxy link(ports, etcd.endpoint());
    model::RendezvousParameters here = parameters(link.port().value, 1500ms);
    if (GetParam() == 2) here.variant = model::Variant::hardened;
    const auto near = backend(ports, here);
    const auto far = backend(ports, etcd.endpoint().port.value);
    const auto first = near->set_state(Value("first"), std::nullopt);
    ASSERT_TRUE(first && first->has_set);
    // Etcd hears and no agent hears etcd; then the link works again.
    link.swallow(real::LinkProxy::Way::back);
    sim::Scope fibers(ports.executor);
    fibers.spawn("mend", [&] {
      ports.executor.sleep_until(in(ports, 1s));
      link.reset();
      link.mend(real::LinkProxy::Way::back);
    });
    const auto second = near->set_state(Value("second"), first->token);
    fibers.join();
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->has_set) << second->bytes.bytes();
    EXPECT_EQ(far->get_state()->bytes.bytes(), "second");
    EXPECT_EQ(far->get_state()->token, second->token);
  });
}

/// Stops a process and waits until all its threads stand still: one may just be answering.
void stop_dead(Ports& ports, sim::Pid pid) {
  kill(pid.value, SIGSTOP);
  const fs::path threads = fs::path("/proc") / std::to_string(pid.value) / "task";
  ASSERT_TRUE(eventually(ports, 10s, [&] {
    return std::all_of(fs::directory_iterator(threads), fs::directory_iterator(),
                       [](const fs::directory_entry& thread) {
                         std::string stat;
                         std::getline(std::ifstream(thread.path() / "stat"), stat);
                         return stat.find(") T ") != std::string::npos;
                       });
  }));
}

/// Over v2 after four read time-outs, as in PyTorch.
TEST_P(Etcd, that_does_not_answer_is_an_error_soon) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    const auto patient = backend(ports, etcd.endpoint().port.value, 2s);
    ASSERT_TRUE(patient->set_state(Value("state"), std::nullopt)->has_set);
    stop_dead(ports, etcd.pid());
    EXPECT_THROW(patient->get_state(), model::RendezvousConnectionError);
    kill(etcd.pid().value, SIGCONT);
    EXPECT_EQ(patient->get_state()->bytes.bytes(), "state");
    EXPECT_THROW(backend(ports, free_port(), 2s), model::RendezvousConnectionError);
  });
}

TEST_P(Etcd, that_was_restarted_is_found_again_with_what_it_held) {
  run([](Ports& ports, const fs::path& directory) {
    const std::string data = (directory / "etcd").string();
    auto etcd =
        std::make_unique<model::EmbeddedEtcd>(ports, model::EmbeddedEtcd::Options{{}, data, 60s});
    const sim::PortNumber port = etcd->endpoint().port;
    const auto patient = backend(ports, port.value, 5s);
    const auto first = patient->set_state(Value("state"), std::nullopt);
    etcd.reset();  // killed
    EXPECT_THROW(patient->get_state(), model::RendezvousConnectionError);
    etcd =
        std::make_unique<model::EmbeddedEtcd>(ports, model::EmbeddedEtcd::Options{port, data, 60s});
    EXPECT_EQ(patient->get_state()->bytes.bytes(), "state");
    EXPECT_TRUE(patient->set_state(Value("next"), first->token)->has_set);
    etcd->stop();
  });
}

TEST_P(Etcd, is_a_store) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    const auto one = store(ports, etcd.endpoint().port.value);
    const auto other = store(ports, etcd.endpoint().port.value);
    EXPECT_FALSE(one->check({"a"}));
    EXPECT_TRUE(one->check({}));
    one->set("a", Value(std::string("zero\0byte", 9)));
    EXPECT_EQ(other->get("a").bytes(), std::string("zero\0byte", 9));
    one->set("a", Value());
    EXPECT_EQ(other->get("a").bytes(), "");
    // Its Base64 has a slash in it, which is a directory in the v2 tree: PyTorch's store does not
    // list what lies below one (S-L1).
    const std::string slashed = "k?\?>";
    one->set(slashed, Value("slash"));
    EXPECT_EQ(other->check({slashed}), GetParam() == 3);
    if (GetParam() == 2) {
      const model::RendezvousParameters p = parameters(etcd.endpoint().port.value, 60s);
      const auto mended =
          model::make_hardened_etcd_v2_store(ports, model::connect_etcd_v2(ports, p), "/store");
      EXPECT_EQ(mended->get(slashed).bytes(), "slash");
    }
    EXPECT_EQ(one->add("n", 5), 5);
    EXPECT_EQ(other->add("n", -7), -2);
    EXPECT_EQ(one->get("n").bytes(), "-2");
    one->multi_set({{"x", Value("1")}, {"y", Value("2")}});
    EXPECT_EQ(other->multi_get({"y", "x"}), (std::vector<Value>{Value("2"), Value("1")}));
    // One client waits for what the other writes later, and may have it before the writer has its answer.
    sim::Scope fibers(ports.executor);
    fibers.spawn("late", [&] {
      ports.executor.sleep_until(in(ports, 500ms));
      other->set("late", Value("here"));
    });
    EXPECT_EQ(one->get("late").bytes(), "here");
    fibers.join();
  });
}

TEST_P(Etcd, counts_every_add_of_clients_that_add_at_once) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    constexpr int kAdders = 8, kTimes = 10;
    sim::Scope adders(ports.executor);
    for (int i = 0; i < kAdders; ++i) {
      adders.spawn("adder", [&] {
        const auto own = store(ports, etcd.endpoint().port.value);
        for (int k = 0; k < kTimes; ++k) own->add("n", 1);
      });
    }
    adders.join();
    EXPECT_EQ(store(ports, etcd.endpoint().port.value)->add("n", 0), kAdders * kTimes);
  });
}

TEST_P(Etcd, that_has_forgotten_the_past_does_not_hold_a_waiter_up) {
  with_etcd([](Ports& ports, model::EmbeddedEtcd& etcd, const fs::path&) {
    const std::uint16_t port = etcd.endpoint().port.value;
    const auto waiter = store(ports, port);
    const auto writer = store(ports, port);
    bool done = false;
    sim::Scope fibers(ports.executor);
    fibers.spawn("waiter", [&] {
      EXPECT_EQ(waiter->get("at last").bytes(), "yes");
      done = true;
    });
    // v2 keeps a thousand events; v3 forgets when it is told to.
    if (GetParam() == 2) {
      model::EtcdV2Client client(ports, model::etcd_options(parameters(port, 60s)));
      for (int i = 0; i < 1100; ++i) client.put("/elsewhere", {.value = std::to_string(i)});
    } else {
      for (int i = 0; i < 20; ++i) writer->set("elsewhere", Value(std::to_string(i)));
      model::HttpClient gateway(ports, {{"localhost", sim::PortNumber{port}}, std::nullopt});
      const auto compacted = gateway.exchange(
          {"POST", "/v3/kv/compaction", R"({"revision":"15"})", "application/json", ""},
          in(ports, 10s));
      EXPECT_EQ(compacted.status, 200) << compacted.body;
    }
    EXPECT_FALSE(done);
    writer->set("at last", Value("yes"));
    fibers.join();
    EXPECT_TRUE(done);
  });
}

TEST(EtcdV2Store, refuses_what_pytorchs_does_not_offer_and_looks_in_vain_until_its_timeout) {
  if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
  run([](Ports& ports, const fs::path& directory) {
    model::EmbeddedEtcd etcd(ports, {{}, (directory / "etcd").string(), 60s});
    model::RendezvousParameters p;
    p.endpoint = "localhost:" + std::to_string(etcd.endpoint().port.value);
    const auto store = model::make_etcd_v2_store(ports, model::connect_etcd_v2(ports, p), "/store");
    EXPECT_THROW(store->compare_set("k", Value(), Value("v")), model::EscapedPythonError);
    EXPECT_THROW(store->delete_key("k"), model::EscapedPythonError);
    EXPECT_THROW(store->num_keys(), model::EscapedPythonError);
    try {
      store->wait({"never"}, 300ms);
      ADD_FAILURE() << "it is not there";
    } catch (const model::EscapedPythonError& error) {
      EXPECT_STREQ(error.class_name(), "LookupError");
    }
    etcd.stop();
  });
}

}  // namespace
}  // namespace hooke::interop
