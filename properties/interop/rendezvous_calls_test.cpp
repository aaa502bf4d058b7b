// What a program that uses a rendezvous itself sees of it: of hooke's and of PyTorch's.
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>
#include <sstream>

#include "job.h"
#include "model/launch/torchrun_options.h"
#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/legacy_etcd/handler.h"
#include "model/rendezvous/registry.h"
#include "model/rendezvous/static/static_handler.h"
#include "model/store/file_store.h"
#include "model/store/kinds/tcp_stores.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

// ---- texts --------------------------------------------------------------------------------------

struct Text {
  std::string function;
  std::string text;
};

std::string protocol_of(const model::EtcdOptions& options) {
  return options.server.tls ? "https" : "http";
}

model::RendezvousParameters with_key(const std::string& text) {
  model::RendezvousParameters out;
  out.config["key"] = text;
  return out;
}

std::string pairs_in(const std::string& text) {
  std::string out;
  for (const auto& [key, value] : model::parse_rendezvous_configuration(text)) {
    out += (out.empty() ? "" : " ") + key + "=" + value;
  }
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos;)
    out.replace(at, 1, "\\n");
  return out;
}

/// The endpoint, and behind a stroke the configuration.
std::string static_handler_of(const std::string& text) {
  const std::size_t stroke = std::min(text.find('|'), text.size());
  model::RendezvousParameters parameters;
  parameters.backend = "static";
  parameters.endpoint = text.substr(0, stroke);
  parameters.run_id = "job";
  parameters.min_nodes = 2;
  parameters.max_nodes = 3;
  if (stroke < text.size()) {
    parameters.config = model::parse_rendezvous_configuration(text.substr(stroke + 1));
  }
  const model::StaticSettings settings = model::static_settings(parameters, model::parse_endpoint);
  return "static " + settings.run_id + " " + settings.endpoint.host + " " +
         std::to_string(settings.endpoint.port.value) + " " + std::to_string(settings.rank) + " " +
         std::to_string(settings.world_size) + " " + std::to_string(settings.timeout / 1s);
}

std::string answer_of_hooke(Ports& ports, model::Variant variant, const Text& asked) {
  model::RendezvousParameters parameters;
  parameters.config["protocol"] = asked.text;
  try {
    if (asked.function == "is_own") {
      return model::matches_this_machine(ports.network, asked.text, variant) ? "1" : "0";
    }
    if (asked.function == "as_bool") return *with_key(asked.text).get_as_bool("key") ? "1" : "0";
    if (asked.function == "as_int") return std::to_string(*with_key(asked.text).get_as_int("key"));
    if (asked.function == "config") return pairs_in(asked.text);
    if (asked.function == "static") return static_handler_of(asked.text);
    if (asked.function == "etcd_v2") return protocol_of(model::etcd_options(parameters));
    if (asked.function == "legacy_etcd") return protocol_of(model::legacy_etcd_options(parameters));
    const sim::Endpoint endpoint = model::parse_endpoint(asked.text, 29400);
    return endpoint.host + " " + std::to_string(endpoint.port.value);
  } catch (const std::invalid_argument&) {
    return "ValueError";
  }
}

/// Both sides read each text.
void compare(model::Variant variant, const std::vector<Text>& texts) {
  const std::string python = torch_python(variant);
  if (python.empty()) GTEST_SKIP() << "no interpreter has PyTorch " << to_string(variant);
  run([&](Ports& ports, const fs::path& directory) {
    json asked = json::array();
    for (const Text& text : texts) asked.push_back({text.function, text.text});
    const fs::path file = directory / "texts.json";
    std::ofstream(file) << asked;
    Child theirs(ports, directory, "theirs",
                 {python, script("rendezvous_calls.py"), "texts", file});
    ASSERT_EQ(theirs.end(120s), 0) << theirs.output();
    std::istringstream lines(theirs.output());
    std::size_t read = 0;
    for (std::string line; std::getline(lines, line) && read < texts.size(); ++read) {
      EXPECT_EQ(answer_of_hooke(ports, variant, texts[read]), line)
          << texts[read].function << " \"" << texts[read].text << '"';
    }
    EXPECT_EQ(read, texts.size());
  });
}

void compare_hosts(model::Variant variant) {
  std::array<char, 256> own{};
  ASSERT_EQ(gethostname(own.data(), own.size() - 1), 0);
  std::vector<Text> texts;
  const std::vector<std::string> hosts{"localhost",
                                       "LOCALHOST",
                                       "127.0.0.1",
                                       "127.1.2.3",
                                       "127.0.0",
                                       "127.1",
                                       "127.0.0.01",
                                       "127.example",
                                       "127.0.0.1.example",
                                       "::1",
                                       "::01",
                                       "0:0:0:0:0:0:0:1",
                                       "0000:0000:0000:0000:0000:0000:0000:0001",
                                       "0:0:0:0:0:0:0:2",
                                       "::2",
                                       "::",
                                       "0.0.0.0",
                                       "10.255.255.1",
                                       "no-such-host.invalid",
                                       "",
                                       own.data()};
  for (const std::string& host : hosts) {
    texts.push_back({"is_own", host});
  }
  compare(variant, texts);
}

TEST(OwnMachine, is_that_of_pytorch_2_13_in_any_form_of_its_address) {
  compare_hosts(model::Variant::torch_2_x);
}

TEST(OwnMachine, is_that_of_pytorch_1_13_in_any_form_of_its_address) {
  compare_hosts(model::Variant::torch_1_13);
}

/// 3,000 texts of the characters that mean something in an endpoint, and some that are usual.
TEST(EndpointTexts, are_read_as_by_pytorch) {
  std::vector<Text> texts;
  for (const char* const text :
       {"",      "  ",    "host",          "host:1",      "host:65535", "host:65536",
        "host:", ":1",    "[::1]",         "[::1]:5",     "::1",        "[0:0:0:0:0:0:0:1]:29555",
        "[::1",  "a b:1", "a_b.c-d:00001", "host:000001", " host:7\t",  "host:1:2",
        "[]",    "[]:1",  "host:+1"}) {
    texts.push_back({"endpoint", text});
  }
  std::mt19937 random(7);
  const std::string letters = "[]:::.-_a19 %/";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t left = random() % 9; left > 0; --left) {
      text += letters[random() % letters.size()];
    }
    texts.push_back({"endpoint", text});
  }
  compare(model::Variant::torch_2_x, texts);
}

TEST(EtcdProtocol, is_read_as_by_pytorchs_backends) {
  std::vector<Text> texts;
  for (const char* const function : {"etcd_v2", "legacy_etcd"}) {
    for (const char* const text :
         {"http", "https", "HTTPS", " http", "http\t", "\n https \r", "ht tp", "h\tttp", "ftp"}) {
      texts.push_back({function, text});
    }
  }
  compare(model::Variant::torch_2_x, texts);
}

TEST(ConfigurationTexts, are_read_as_by_pytorch) {
  std::vector<Text> texts;
  for (const char* const text :
       {"1",  "0",   "true", "TRUE", "f",  "No",   "y",   "yes ", "",   "2",      "on",  "-3",
        "+7", "010", "1_0",  "_1",   "1_", "1__0", "+-5", "--5",  "5s", " \v5\n", "0x1", "1.0"}) {
    texts.push_back({"as_bool", text});
    if (std::string_view(text) != "5s") texts.push_back({"as_int", text});
  }
  std::mt19937 random(11);
  const std::string letters = "ab=,, \t\n\v=1";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t left = random() % 10; left > 0; --left) {
      text += letters[random() % letters.size()];
    }
    texts.push_back({"config", text});
  }
  compare(model::Variant::torch_2_x, texts);
}

TEST(StaticHandlers, are_made_of_the_same_texts_as_pytorchs) {
  std::vector<Text> texts;
  for (const char* const text :
       {"localhost:29500|rank=1", " localhost:29500 |rank=0,timeout=60",
        "[::1]:5|rank=2,timeout=900", "localhost|rank=0", "|rank=0", "  |rank=0", ":29500|rank=0",
        "localhost:99999|rank=0", "localhost:29500", "localhost:29500|timeout=60",
        "localhost:29500|rank=0,timeout=soon", "a b:1|rank=0", "127.0.0.1:00080|rank=0",
        "localhost:0|rank=0"}) {
    texts.push_back({"static", text});
  }
  compare(model::Variant::torch_2_x, texts);
}

// ---- handlers -----------------------------------------------------------------------------------

/// Handlers of this process for one job over a file.
std::unique_ptr<model::RendezvousHandler> handler_over(Ports& ports, const fs::path& file,
                                                       std::int64_t nodes, model::Variant variant) {
  model::RendezvousParameters parameters;
  parameters.backend = "c10d";
  parameters.endpoint = file;
  parameters.run_id = "job";
  parameters.min_nodes = parameters.max_nodes = nodes;
  parameters.variant = variant;
  parameters.config = {{"store_type", "file"}, {"keep_alive_interval", "1"}};
  return model::RendezvousRegistry::with_builtins().create(ports, parameters);
}

/// The last parts of the names of the nodes that take part, in the order of their ranks.
std::vector<std::int64_t> local_ids(Ports& ports, const fs::path& directory, const fs::path& file) {
  Child state(ports, directory, "state-" + file.filename().string(),
              {hooke_program(), "state", "--json", "--rdzv-backend=c10d",
               "--rdzv-conf=store_type=file", "--rdzv-id=job", "--rdzv-endpoint=" + file.string()});
  EXPECT_EQ(state.end(20s), 0) << state.output();
  std::vector<std::int64_t> out;
  const json seen = json::parse(state.output());
  for (const json& node : seen["participants"]) {
    out.push_back(node["local_id"]);
  }
  return out;
}

void three_handlers_meet(model::Variant variant) {
  const std::string python = torch_python(variant);
  if (python.empty()) GTEST_SKIP() << "no interpreter has PyTorch " << to_string(variant);
  run([&](Ports& ports, const fs::path& directory) {
    Child theirs(ports, directory, "theirs",
                 {python, script("rendezvous_calls.py"), "three", directory / "t"});
    EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
    std::vector<std::unique_ptr<model::RendezvousHandler>> handlers;
    int met = 0;
    for (int i = 0; i < 3; ++i) {
      handlers.push_back(handler_over(ports, directory / "h", 3, variant));
      ports.executor.spawn("join", [&met, handler = handlers.back().get()] {
        met += handler->next_rendezvous().world_size == 3 ? 1 : 0;
      });
    }
    EXPECT_TRUE(eventually(ports, 30s, [&] { return met == 3; }));
    const auto ids_of_theirs = local_ids(ports, directory, directory / "t");
    EXPECT_EQ(ids_of_theirs, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(local_ids(ports, directory, directory / "h"), ids_of_theirs);
  });
}

TEST(HandlersOfOneProcess, are_counted_in_their_nodes_names_as_by_pytorch_2_13) {
  three_handlers_meet(model::Variant::torch_2_x);
}

TEST(HandlersOfOneProcess, are_counted_in_their_nodes_names_as_by_pytorch_1_13) {
  three_handlers_meet(model::Variant::torch_1_13);
}

TEST(HandlerThatIsLetGo, beats_no_more_as_pytorchs) {
  const std::string python = torch_python();
  if (python.empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    Child theirs(ports, directory, "theirs",
                 {python, script("rendezvous_calls.py"), "let_go", directory / "t"});
    const auto beats = [&] {
      const auto state = [&] {
        return model::open_file_store(ports, directory / "h")
            ->get(model::c10d_state_key("job"))
            .bytes();
      };
      const std::string before = state();
      ports.executor.sleep_until(in(ports, 4s));
      return state() != before ? "True\n" : "False\n";
    };
    auto handler = handler_over(ports, directory / "h", 1, model::Variant::torch_2_x);
    handler->next_rendezvous();
    std::string ours = beats();
    handler.reset();
    ours += beats();
    EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
    EXPECT_EQ(theirs.output(), "True\nFalse\n");
    EXPECT_EQ(ours, theirs.output());
  });
}

/// Counts the draws of the delay before a join, and lets the first number come out.
class CountedDelays final : public sim::Random {
 public:
  std::uint64_t below(std::string_view purpose, std::uint64_t) override {
    drawn += purpose == "rendezvous.jitter" ? 1 : 0;
    return 0;
  }
  int drawn = 0;
};

/// In round 0 alone, however often a handler joins.
TEST(HandlerThatJoinsAgain, draws_a_delay_as_often_as_pytorchs) {
  const std::string python = torch_python();
  if (python.empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    Child theirs(ports, directory, "theirs",
                 {python, script("rendezvous_calls.py"), "delays", directory / "t"});
    CountedDelays random;
    Ports counted{ports.clock, ports.executor, ports.network, ports.processes,
                  ports.files, random,         ports.trace,   ports.fault_point};
    const auto handler = handler_over(counted, directory / "h", 1, model::Variant::torch_2_x);
    std::string ours;
    for (int i = 0; i < 4; ++i) {
      handler->next_rendezvous();
      ours += std::to_string(random.drawn) + "\n";
    }
    EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
    EXPECT_EQ(theirs.output().substr(0, 2), "1\n");
    EXPECT_EQ(ours, theirs.output());
  });
}

TEST(StaticHandlers, have_one_round_and_one_store_as_pytorchs) {
  const std::string python = torch_python();
  if (python.empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([&](Ports& ports, const fs::path& directory) {
    const std::string endpoint = "localhost:" + std::to_string(free_port());
    Child theirs(ports, directory, "theirs",
                 {python, script("rendezvous_calls.py"), "alone", endpoint});
    EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
    model::RendezvousParameters parameters;
    parameters.backend = "static";
    parameters.endpoint = endpoint;
    parameters.run_id = "job";
    parameters.config = {{"rank", "0"}, {"timeout", "20"}};
    const auto handler = model::RendezvousRegistry::with_builtins().create(ports, parameters);
    std::string ours;
    for (int i = 0; i < 2; ++i) {
      const model::RendezvousInfo info = handler->next_rendezvous();
      ours += std::to_string(info.rank) + " " + std::to_string(info.world_size) + " " +
              info.bootstrap->master_addr + ":" + std::to_string(info.bootstrap->master_port) +
              "\n";
      info.store->set("key", model::Value("value"));
    }
    model::TcpStoreOptions options;
    options.endpoint = model::parse_endpoint(endpoint, 0);
    options.timeout = 5s;
    const auto store = model::connect_tcp_store(ports, options);
    // As PyTorch's PrefixStore writes it.
    ours += (store->check({"/job/key"}) ? store->get("/job/key") : store->get("job/key")).bytes() +
            "\n";
    handler->set_closed();
    ours += std::to_string(handler->is_closed()) + " " +
            std::to_string(handler->num_nodes_waiting()) + " " +
            std::to_string(handler->shutdown()) + " " + std::to_string(handler->use_agent_store()) +
            "\n";
    EXPECT_EQ(ours, theirs.output());
  });
}

}  // namespace
}  // namespace hooke::interop
