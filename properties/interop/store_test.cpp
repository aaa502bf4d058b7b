// hooke's TCPStore at one table with PyTorch's.
#include <csignal>

#include "job.h"
#include "model/store/kinds/tcp_stores.h"

namespace hooke::interop {
namespace {

using model::Value;
using model::Variant;

class TcpStoreInterop : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    python = torch_python(GetParam());
    if (python.empty()) GTEST_SKIP() << "no interpreter with this PyTorch is named";
  }
  std::string python;
};

INSTANTIATE_TEST_SUITE_P(, TcpStoreInterop,
                         testing::Values(Variant::torch_1_13, Variant::torch_2_x),
                         [](const auto& variant) {
                           return variant.param == Variant::torch_2_x ? "torch_2_x" : "torch_1_13";
                         });

TEST_P(TcpStoreInterop, every_operation_of_pytorchs_client_is_served) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    Child server(ports, directory, "server", {hooke_program().string(), "store", "--port", "0"});
    std::string port;
    ASSERT_TRUE(eventually(ports, 20s, [&] {
      const std::string text = server.output();
      const std::size_t at = text.rfind(' ');
      port = text.ends_with("\n") ? text.substr(at + 1, text.size() - at - 2) : "";
      return !port.empty();
    })) << server.output();
    Child client(ports, directory, "client",
                 {python, script("store_client.py").string(), "localhost", port});
    EXPECT_EQ(client.end(120s), 0) << client.output();
    EXPECT_THAT(client.output(), testing::HasSubstr("all operations agree"));
    server.signal(sim::Signal::term);
    EXPECT_EQ(server.end(20s), 0);
  });
}

TEST_P(TcpStoreInterop, every_operation_of_hookes_client_is_understood_by_pytorchs_server) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    Child server(ports, directory, "server", {python, script("store_server.py").string()});
    std::string port;
    ASSERT_TRUE(eventually(ports, 60s, [&] {
      port = server.output();
      return port.ends_with("\n");
    }));
    model::TcpStoreOptions options;
    options.endpoint = {"localhost", sim::PortNumber{static_cast<std::uint16_t>(std::stoi(port))}};
    options.timeout = 20s;
    options.variant = GetParam();
    const bool is_2x = GetParam() == Variant::torch_2_x;
    const auto store = model::connect_tcp_store(ports, options);
    store->set("k", Value("v"));
    EXPECT_EQ(store->get("k").bytes(), "v");
    store->set("big", Value(std::string(3'000'000, 'x')));
    EXPECT_EQ(store->get("big").size(), 3'000'000U);
    EXPECT_EQ(store->add("n", 5), 5);
    EXPECT_EQ(store->add("n", -7), -2);
    EXPECT_EQ(store->get("n").bytes(), "-2");
    EXPECT_EQ(store->compare_set("c", Value(), Value("1")).bytes(), "1");
    EXPECT_EQ(store->compare_set("c", Value("1"), Value("2")).bytes(), "2");
    EXPECT_EQ(store->compare_set("c", Value("1"), Value("3")).bytes(), "2");
    EXPECT_EQ(store->compare_set("d", Value("x"), Value("y")).bytes(), "x");
    EXPECT_TRUE(store->check({"k", "n"}));
    EXPECT_FALSE(store->check({"k", "none"}));
    if (is_2x) {
      store->append("app", Value("1"));
      store->append("app", Value("2"));
      EXPECT_EQ(store->get("app").bytes(), "12");
    }
    store->multi_set({{"m1", Value("one")}, {"m2", Value("two")}});
    const auto both = store->multi_get({"m1", "m2"});
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].bytes() + both[1].bytes(), "onetwo");
    const std::int64_t keys = store->num_keys();
    EXPECT_TRUE(store->delete_key("m1"));
    EXPECT_FALSE(store->delete_key("m1"));
    EXPECT_EQ(store->num_keys(), keys - 1);
    store->wait({"k", "n"});
    const auto impatient = model::connect_tcp_store(ports, options);
    EXPECT_THROW(impatient->wait({"never"}, 300ms), model::StoreTimeoutError);
    // In 1.13 the server goes on waiting, and its answer spoils a later one (S-1).
    store->set("never", Value("after all"));
    EXPECT_EQ(impatient->add("after time-out", 5), is_2x ? 5 : 1280);
    std::string late;
    const sim::FiberId waiter = ports.executor.spawn(
        "waiter", [&] { late = model::connect_tcp_store(ports, options)->get("late").bytes(); });
    ports.executor.sleep_until(in(ports, 200ms));
    store->set("late", Value("here"));
    ports.executor.join(waiter);
    EXPECT_EQ(late, "here");
  });
}

TEST_P(TcpStoreInterop, pytorchs_server_is_calibrated) {
  run([this](Ports& ports, const std::filesystem::path& directory) {
    Child server(ports, directory, "server", {python, script("store_server.py").string()});
    std::string port;
    ASSERT_TRUE(eventually(ports, 60s, [&] {
      port = server.output();
      return port.ends_with("\n");
    }));
    port.pop_back();
    Child calibrate(ports, directory, "calibrate",
                    {hooke_program().string(), "calibrate", "localhost:" + port, "--connections",
                     "8", "--seconds", "0.1"});
    EXPECT_EQ(calibrate.end(120s), 0) << calibrate.output();
    EXPECT_THAT(calibrate.output(),
                testing::HasSubstr("speaks " + std::string(to_string(GetParam()))));
  });
}

}  // namespace
}  // namespace hooke::interop
