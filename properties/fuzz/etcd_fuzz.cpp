// Bytes in place of etcd's answers: every call either gives a value or one of etcd's errors. A byte
// 0xFE in the input ends an answer; the next connection gets what comes behind it. Or bytes in
// place of requests to the simulated etcd: whatever comes, it goes on serving. There a byte 0xFE
// ends a request, whose first byte chooses the path.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "model/etcd/v3_server.h"
#include "model/observe/python_error.h"
#include "model/store/base64.h"
#include "properties/fuzz/lone_server.h"
#include "sim/real/real_process.h"

namespace {

using namespace hooke;  // NOLINT

/// Sends its text and ends.
class Stream final : public sim::Stream {
 public:
  explicit Stream(std::string text) : text_(std::move(text)) {}
  sim::Outcome<sim::Done> write(sim::Buffer) override { return sim::Done{}; }
  sim::Outcome<sim::Buffer> read(std::optional<sim::MonotonicTime>) override {
    constexpr std::size_t kPiece = 100;
    std::string piece = text_.substr(0, kPiece);
    text_.erase(0, piece.size());
    return sim::Buffer(std::move(piece));
  }
  void set_handler(sim::StreamHandler&) override { std::abort(); }
  void finish_writing() override {}
  void reset() override {}
  [[nodiscard]] sim::Endpoint local() const override { return {}; }
  [[nodiscard]] sim::Endpoint peer() const override { return {}; }

 private:
  std::string text_;
};

class Network final : public sim::Network {
 public:
  explicit Network(std::string answers) : answers_(std::move(answers)) {}
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber,
                                                      sim::AcceptHandler&) override {
    std::abort();
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(const sim::Endpoint&,
                                                     std::optional<sim::MonotonicTime>) override {
    if (answers_.empty()) return sim::Failure{sim::Fault::connection_refused, "", false};
    const std::size_t end = answers_.find('\xfe');
    std::string answer = answers_.substr(0, end);
    answers_.erase(0, end == std::string::npos ? end : end + 1);
    return std::unique_ptr<sim::Stream>(std::make_unique<Stream>(std::move(answer)));
  }
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string&,
                                                            sim::AcceptHandler&) override {
    std::abort();
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string&, std::optional<sim::MonotonicTime>) override {
    std::abort();
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const sim::Endpoint& to, const sim::TlsOptions&,
      std::optional<sim::MonotonicTime> deadline) override {
    return connect(to, deadline);
  }
  sim::Outcome<std::vector<std::string>> resolve(const std::string&) override { std::abort(); }
  sim::Outcome<std::string> canonical_name(const std::string&) override { std::abort(); }
  [[nodiscard]] std::string host_name() const override { return "fuzz"; }
  [[nodiscard]] std::string fully_qualified_name() const override { return "fuzz"; }

 private:
  std::string answers_;
};

template <class Use>
void guarded(Use use) {
  try {
    use();
  } catch (const model::EtcdError&) {
  } catch (const model::EtcdConnectionError&) {
  } catch (const model::EscapedPythonError&) {  // python-etcd's, of lists of members
  }
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

void ask_server(sim::Ports& ports, std::string requests) {
  static const std::array kPaths{
      "/v3/kv/range",         "/v3/kv/put",       "/v3/kv/deleterange",  "/v3/kv/txn",
      "/v3/lease/grant",      "/v3/lease/revoke", "/v3/lease/keepalive", "/v3/kv/compaction",
      "/v3/lease/timetolive", "/v3/watch"};
  lone_server::Network network;
  sim::Ports there{ports.clock, ports.executor, network,     ports.processes,
                   ports.files, ports.random,   ports.trace, ports.fault_point};
  const model::EtcdV3Server server(there, sim::PortNumber{1});
  std::vector<std::shared_ptr<lone_server::Connection>> watchers;
  while (!requests.empty()) {
    const std::string one = requests.substr(0, requests.find('\xfe'));
    requests.erase(0, one.size() + 1);
    if (one.empty()) continue;
    watchers.push_back(network.connect());
    // A digit chooses; anything else is no HTTP at all.
    const std::size_t path = static_cast<unsigned char>(one[0]) - '0';
    lone_server::send(*watchers.back(),
                      sim::Buffer(path < kPaths.size() ? post(kPaths[path], one.substr(1)) : one));
  }
  const auto client = network.connect();
  lone_server::send(*client,
                    sim::Buffer(post("/v3/kv/put", R"({"key":"aG9va2U=","value":"MQ=="})") +
                                post("/v3/kv/range", R"({"key":"aG9va2U="})")));
  const std::string answer = client->from_server.take_bytes(client->from_server.size());
  if (answer.find(R"("value":"MQ==")") == std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  real::RealProcess process({"fuzz"});
  process.run([&](sim::Ports& ports) {
    Network network(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    sim::Ports there{ports.clock, ports.executor, network,     ports.processes,
                     ports.files, ports.random,   ports.trace, ports.fault_point};
    const model::EtcdOptions options{{{"etcd", sim::PortNumber{1}}, std::nullopt},
                                     (data[0] & 1U) != 0 ? "user" : "",
                                     "",
                                     std::chrono::seconds(1)};
    const auto deadline = ports.clock.monotonic_now() + std::chrono::seconds(1);
    if ((data[0] & 4U) != 0) {
      ask_server(ports, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    } else if ((data[0] & 2U) != 0) {
      guarded([&] {
        model::EtcdV2Client client(there, options);
        guarded([&] { client.get("/k"); });
        guarded([&] { client.list("/k"); });
        guarded([&] { client.put("/k", {.value = "v"}); });
        guarded([&] { client.watch("/k", 1, deadline); });
      });
    } else {
      guarded([&] {
        model::EtcdV3Client client(there, options);
        guarded([&] { client.get("k"); });
        guarded([&] { client.list("k"); });
        guarded([&] { client.put_if("k", sim::Value("v"), 1); });
        guarded([&] { client.renew(client.grant(std::chrono::seconds(5))); });
        guarded([&] { client.watch("k", 1, deadline); });
      });
    }
    return 0;
  });
  return 0;
}
