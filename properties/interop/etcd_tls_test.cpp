// Etcd v3 over TLS, with certificates and users.
#include <cstdlib>

#include "job.h"
#include "model/http/http_client.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/etcd_factory.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using model::Value;

/// Keys and certificates of an authority, a server and a client, as files in `directory`.
void make_certificates(const fs::path& directory) {
  const std::string make_keys =
      "cd '" + directory.string() +
      "' && exec 2>/dev/null && "
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out "
      "ca.pem && for peer in server client; do openssl req -newkey rsa:2048 -nodes -subj /O=$peer "
      "-keyout $peer.key -out $peer.csr && printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n"
      "extendedKeyUsage=serverAuth,clientAuth\\n' > ext && openssl x509 -req -days 2 -in "
      "$peer.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile ext -out $peer.pem || exit 1; "
      "done";
  ASSERT_EQ(std::system(make_keys.c_str()), 0);
}

/// An etcd that speaks TLS only, asks for certificates, and knows users. Its gateway refuses
/// certificates with a common name then.
class EtcdOverTls {
 public:
  EtcdOverTls(Ports& ports, const fs::path& directory)
      : ports_(ports), directory_(directory), port_(free_port()) {
    make_certificates(directory);
    const std::string peers = std::to_string(free_port());
    etcd_.emplace(ports, directory, "etcd",
                  std::vector<std::string>{"etcd",
                                           "--data-dir",
                                           file("data"),
                                           "--listen-client-urls",
                                           "https://127.0.0.1:" + std::to_string(port_),
                                           "--advertise-client-urls",
                                           "https://" + endpoint(),
                                           "--listen-peer-urls",
                                           "http://127.0.0.1:" + peers,
                                           "--initial-advertise-peer-urls",
                                           "http://localhost:" + peers,
                                           "--initial-cluster",
                                           "default=http://localhost:" + peers,
                                           "--cert-file",
                                           file("server.pem"),
                                           "--key-file",
                                           file("server.key"),
                                           "--trusted-ca-file",
                                           file("ca.pem"),
                                           "--client-cert-auth"});
  }

  /// What a client with the right certificate gives.
  [[nodiscard]] model::RendezvousParameters parameters() const {
    model::RendezvousParameters known;
    known.backend = "etcd-v3";
    known.endpoint = endpoint();
    known.run_id = "job";
    known.config = {{"protocol", "https"},
                    {"ca_cert", file("ca.pem")},
                    {"ssl_cert", file("client.pem")},
                    {"ssl_cert_key", file("client.key")},
                    {"read_timeout", "5"}};
    return known;
  }
  std::shared_ptr<model::EtcdV3Client> connect(const model::RendezvousParameters& p) {
    return model::connect_etcd<model::EtcdV3Client>(ports_, model::etcd_options(p));
  }
  void await_start() {
    ASSERT_TRUE(eventually(ports_, 30s, [&] {
      try {
        connect(parameters());
        return true;
      } catch (const model::RendezvousConnectionError&) {
        return false;
      }
    })) << etcd_->output();
  }
  /// Makes the user root with the password "secret", and asks for users from now on.
  void enable_users() {
    model::HttpClient gateway(
        ports_, {{"localhost", sim::PortNumber{port_}},
                 sim::TlsOptions{file("ca.pem"), file("client.pem"), file("client.key")}});
    const auto tell = [&](const char* path, const char* body) {
      const auto answer =
          gateway.exchange({"POST", path, body, "application/json", ""}, in(ports_, 10s));
      EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    };
    tell("/v3/auth/user/add", R"({"name":"root","password":"secret"})");
    tell("/v3/auth/role/add", R"({"name":"root"})");
    tell("/v3/auth/user/grant", R"({"user":"root","role":"root"})");
    tell("/v3/auth/enable", "{}");
  }
  [[nodiscard]] std::string file(const char* name) const { return (directory_ / name).string(); }

 private:
  [[nodiscard]] std::string endpoint() const { return "localhost:" + std::to_string(port_); }

  Ports& ports_;
  fs::path directory_;
  std::uint16_t port_;
  std::optional<Child> etcd_;
};

TEST(EtcdV3, is_reached_through_tls_as_a_known_user_and_not_otherwise) {
  if (!is_installed("etcd") || !is_installed("openssl")) GTEST_SKIP() << "no etcd or no openssl";
  run([](Ports& ports, const fs::path& directory) {
    EtcdOverTls etcd(ports, directory);
    etcd.await_start();

    model::RendezvousParameters stranger = etcd.parameters();
    stranger.config.erase("ssl_cert");
    EXPECT_THROW(etcd.connect(stranger)->get("k"), std::runtime_error);
    model::RendezvousParameters gullible = etcd.parameters();
    gullible.config["ca_cert"] = etcd.file("client.pem");
    EXPECT_THROW(etcd.connect(gullible), model::RendezvousConnectionError);
    model::RendezvousParameters nowhere = etcd.parameters();
    nowhere.config["ca_cert"] = etcd.file("missing.pem");
    EXPECT_THROW(etcd.connect(nowhere), model::RendezvousConnectionError);

    etcd.enable_users();
    model::RendezvousParameters user = etcd.parameters();
    user.config["user"] = "root";
    user.config["password"] = "secret";
    const auto client = etcd.connect(user);
    client->put("k", Value("v"));
    EXPECT_EQ(client->get("k").entry.value.bytes(), "v");
    user.config["password"] = "guess";
    EXPECT_THROW(etcd.connect(user), model::RendezvousConnectionError);
  });
}

}  // namespace
}  // namespace hooke::interop
