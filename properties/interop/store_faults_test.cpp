// A real store among clients that mean no good, on a machine that has no more to give.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "job.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/store/wire.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using model::Value;

/// A `hooke store` of its own, with at most so many descriptors.
class StoreProcess {
 public:
  StoreProcess(Ports& ports, const fs::path& directory, int descriptors = 1024)
      : port_(free_port()),
        child_(ports, directory, "store",
               {"/bin/sh", "-c",
                "ulimit -n " + std::to_string(descriptors) + " && exec '" +
                    hooke_program().string() + "' store --port " + std::to_string(port_)}) {
    EXPECT_TRUE(eventually(ports, 10s, [&] {
      return child_.output().find("serving") != std::string::npos;
    })) << child_.output();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] sim::Endpoint endpoint() const { return {"localhost", sim::PortNumber{port_}}; }
  [[nodiscard]] std::shared_ptr<model::Store> client(Ports& ports) const {
    model::TcpStoreOptions options;
    options.endpoint = endpoint();
    options.timeout = 5s;
    return model::connect_tcp_store(ports, options);
  }
  /// Resident memory in bytes.
  [[nodiscard]] std::int64_t memory() const {
    std::ifstream status("/proc/" + std::to_string(child_.pid().value) + "/statm");
    std::int64_t pages = 0, resident = 0;
    status >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }

 private:
  std::uint16_t port_;
  Child child_;
};

bool serves(model::Store& store, const std::string& key) {
  store.set(key, Value("value"));
  return store.get(key).bytes() == "value";
}

sim::Buffer opening() {
  return model::Message(model::Query::validate).u32(model::kValidateMagic).take();
}

TEST(StoreFaults, without_a_free_descriptor_serves_the_clients_it_has_and_turns_others_away) {
  run([](Ports& ports, const fs::path& directory) {
    constexpr int kDescriptors = 40;
    const StoreProcess store(ports, directory, kDescriptors);
    const auto first = store.client(ports);
    std::vector<std::unique_ptr<sim::Stream>> crowd;
    for (int i = 0; i < 2 * kDescriptors; ++i) {
      auto stream = ports.network.connect(store.endpoint(), in(ports, 5s));
      ASSERT_TRUE(stream.ok()) << stream.failure().detail;
      crowd.push_back(std::move(stream).value());
    }
    EXPECT_TRUE(serves(*first, "in the crowd"));
    // The last ones have been told so: no agent waits for an answer that does not come.
    const auto told = crowd.back()->read(in(ports, 5s));
    EXPECT_TRUE(!told.ok() || told.value().empty());
    crowd.clear();
    EXPECT_TRUE(eventually(ports, 5s, [&] {
      try {
        return serves(*store.client(ports), "after the crowd");
      } catch (const model::StoreError&) {
        return false;
      }
    }));
  });
}

TEST(StoreFaults, clients_that_never_finish_a_request_cost_little_and_hold_no_other_up) {
  run([](Ports& ports, const fs::path& directory) {
    const StoreProcess store(ports, directory);
    const auto client = store.client(ports);
    ASSERT_TRUE(serves(*client, "before"));
    const std::int64_t before = store.memory();
    std::vector<std::unique_ptr<sim::Stream>> loris;
    for (int i = 0; i < 300; ++i) {
      loris.push_back(ports.network.connect(store.endpoint(), in(ports, 5s)).value());
      static_cast<void>(loris.back()->write(opening()));
      // The beginning of a SET whose key is said to be long: a byte now and then.
      static_cast<void>(loris.back()->write(sim::Buffer(std::string("\1\0\10\0\0\0\0\0\0", 9))));
    }
    for (int byte = 0; byte < 20; ++byte) {
      for (const auto& one : loris) static_cast<void>(one->write(sim::Buffer(std::string("k"))));
      ASSERT_TRUE(serves(*client, "meanwhile"));
    }
    EXPECT_LT(store.memory() - before, 16 << 20);
  });
}

TEST(StoreFaults, a_length_beyond_all_bounds_ends_that_connection_only) {
  run([](Ports& ports, const fs::path& directory) {
    const StoreProcess store(ports, directory);
    const auto client = store.client(ports);
    const auto stream = ports.network.connect(store.endpoint(), in(ports, 5s)).value();
    static_cast<void>(stream->write(opening()));
    static_cast<void>(
        stream->write(sim::Buffer(std::string("\1\377\377\377\377\377\377\377\177", 9))));
    const auto told = stream->read(in(ports, 5s));
    EXPECT_TRUE(!told.ok() || told.value().empty());
    EXPECT_TRUE(serves(*client, "unharmed"));
  });
}

TEST(StoreFaults, one_that_never_reads_its_answers_costs_a_bounded_amount_of_memory) {
  run([](Ports& ports, const fs::path& directory) {
    const StoreProcess store(ports, directory);
    const auto client = store.client(ports);
    client->set("big", Value(std::string(1 << 20, 'x')));
    const std::int64_t before = store.memory();
    const auto deaf = ports.network.connect(store.endpoint(), in(ports, 5s)).value();
    // In one piece, so that the store has read them all before the first answer is stuck.
    sim::Buffer requests = opening();
    for (int i = 0; i < 500; ++i) {
      requests.append(model::Message(model::Query::get).key("big").take());
    }
    static_cast<void>(deaf->write(std::move(requests)));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(serves(*client, "meanwhile"));
    EXPECT_LT(store.memory() - before, 64 << 20) << "500 MiB were asked for";
  });
}

TEST(StoreFaults, a_client_that_vanishes_in_a_wait_leaves_nothing) {
  run([](Ports& ports, const fs::path& directory) {
    const StoreProcess store(ports, directory);
    const auto client = store.client(ports);
    for (int i = 0; i < 200; ++i) {
      const auto stream = ports.network.connect(store.endpoint(), in(ports, 5s)).value();
      static_cast<void>(stream->write(opening()));
      static_cast<void>(
          stream->write(sim::Buffer(std::string("\6\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0/late", 22))));
      if (i % 2 == 0) stream->reset();
    }
    client->set("late", Value("now"));
    EXPECT_TRUE(serves(*client, "after"));
  });
}

TEST(StoreFaults, a_port_that_is_taken_is_said_to_be_so) {
  run([](Ports& ports, const fs::path& directory) {
    const StoreProcess store(ports, directory);
    Child second(ports, directory, "second",
                 {hooke_program().string(), "store", "--port", std::to_string(store.port())});
    EXPECT_EQ(second.end(10s), 2);
    EXPECT_THAT(second.output(), testing::HasSubstr("--port"));
    EXPECT_THAT(second.output(), testing::HasSubstr("in use"));
  });
}

}  // namespace
}  // namespace hooke::interop
