// A barrier that some ranks stay away from: what the others are told, by hooke's and by PyTorch's.
#include <sstream>

#include "job.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/store/store_helpers.h"
#include "sim/port/sync.h"

namespace hooke::interop {
namespace {

/// As barrier_tracing.py prints it.
std::string said_by_hookes(Ports& ports, std::int64_t world_size,
                           const std::vector<std::int64_t>& ranks) {
  const sim::PortNumber port{free_port()};
  const auto server = model::serve_tcp_store(ports, port, "rendezvous");
  std::map<std::int64_t, std::string> said;
  sim::Scope clients(ports.executor);
  for (const std::int64_t rank : ranks) {
    clients.spawn("rank", [&, rank] {
      model::TcpStoreOptions options;
      options.endpoint = {"localhost", port};
      options.timeout = 5s;
      const auto store = model::connect_tcp_store(ports, options);
      const auto name_of = [](std::int64_t number) { return "host-" + std::to_string(number); };
      try {
        model::barrier(*store, world_size, "key", 2s, model::BarrierTracing{rank, name_of, 500ms});
        said[rank] = "passed";
      } catch (const model::StoreTimeoutError& error) {
        const std::string text = error.what();
        const std::size_t begin = text.find("Timed out waiting on barrier on");
        said[rank] = begin == std::string::npos ? "timed out" : text.substr(begin);
      }
    });
  }
  clients.join();
  std::string out;
  for (const std::int64_t rank : ranks) out += std::to_string(rank) + ": " + said[rank] + "\n";
  return out;
}

std::string said_by_pytorchs(Ports& ports, const std::filesystem::path& directory,
                             std::int64_t world_size, const std::vector<std::int64_t>& ranks) {
  std::vector<std::string> argv{torch_python(), script("barrier_tracing.py"),
                                std::to_string(world_size)};
  std::string name = "theirs-" + std::to_string(world_size);
  for (const std::int64_t rank : ranks) {
    argv.push_back(std::to_string(rank));
    name += "-" + argv.back();
  }
  Child theirs(ports, directory, name, argv);
  EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
  return theirs.output();
}

TEST(BarrierTracing, names_the_ranks_that_stay_away_as_pytorchs) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const std::filesystem::path& directory) {
    using Ranks = std::vector<std::int64_t>;
    // All come; rank 1 does not; rank 0 does not, which alone would know.
    for (const Ranks& ranks : {Ranks{0, 1, 2}, Ranks{0, 2}, Ranks{1, 2}}) {
      const std::string theirs = said_by_pytorchs(ports, directory, 3, ranks);
      EXPECT_EQ(said_by_hookes(ports, 3, ranks), theirs);
    }
    EXPECT_THAT(said_by_pytorchs(ports, directory, 3, {0, 2}),
                testing::HasSubstr("missing_ranks=[host-1]"));
  });
}

/// PyTorch names them in no order.
TEST(BarrierTracing, names_sixteen_ranks_at_most_as_pytorchs) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const std::filesystem::path& directory) {
    const auto hosts = [](std::string said) {
      std::replace_if(
          said.begin(), said.end(), [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
      std::vector<std::string> out;
      std::istringstream words(said);
      for (std::string word; words >> word;) {
        if (word.starts_with("host-")) out.push_back(word);
      }
      std::sort(out.begin(), out.end());
      return out;
    };
    const std::vector<std::string> theirs = hosts(said_by_pytorchs(ports, directory, 30, {0}));
    EXPECT_EQ(theirs.size(), 16U);
    EXPECT_EQ(hosts(said_by_hookes(ports, 30, {0})), theirs);
  });
}

}  // namespace
}  // namespace hooke::interop
