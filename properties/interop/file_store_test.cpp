// PyTorch's FileStore and hooke's leave the same bytes in a file, and so do their agents.
#include "model/store/file_store.h"

#include <fstream>
#include <iterator>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string hexadecimal(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

/// The keys of a file in the order in which they were written, without the number of the round's
/// state writes: how often the state changes hands is up to the clock.
std::vector<std::string> keys_of(const std::string& bytes) {
  std::vector<std::string> keys;
  bool is_key = true;
  for (std::size_t at = 0; at + 4 <= bytes.size(); is_key = !is_key) {
    std::size_t size = 0;
    for (std::size_t i = 4; i > 0; --i) {
      size = size << 8U | static_cast<unsigned char>(bytes.at(at + i - 1));
    }
    const std::string text = bytes.substr(at + 4, size);
    if (is_key && (keys.empty() || keys.back() != text)) keys.push_back(text);
    if (!is_key && !keys.back().starts_with('/')) keys.back() += "=" + text;
    at += 4 + size;
  }
  return keys;
}

TEST(FileStoreInterop, has_the_bytes_of_pytorchs_after_each_step) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    Child theirs(ports, directory, "theirs",
                 {torch_python(), script("file_store.py").string(), (directory / "t").string()});
    ASSERT_EQ(theirs.end(60s), 0) << theirs.output();
    const fs::path path = directory / "h";
    std::string ours;
    const auto tell = [&] { ours += hexadecimal(bytes_of(path)) + "\n"; };
    const auto count = [&](model::Store& store) {
      ours += std::to_string(store.num_keys()) + "\n";
    };
    auto one = model::open_file_store(ports, path);
    tell();
    count(*one);
    auto other = model::open_file_store(ports, path);
    other->set("k", model::Value("v"));
    count(*one);
    tell();
    one.reset();
    tell();
    count(*other);
    other->delete_key("k");
    count(*other);
    other.reset();
    tell();
    count(*model::open_file_store(ports, path));
    tell();
    EXPECT_EQ(ours, theirs.output());
  });
}

TEST(FileStoreInterop, of_an_agent_that_has_ended_has_the_keys_of_torchruns) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    const fs::path worker = directory / "ends.py";
    std::ofstream(worker) << "import sys\nsys.exit(int(sys.argv[1]))\n";
    for (const std::string code : {"0", "3"}) {
      const auto keys = [&](const std::string& name, std::vector<std::string> command) {
        const fs::path file = directory / (name + code);
        const std::vector<std::string> options{"--rdzv-backend=c10d",
                                               "--rdzv-conf=store_type=file",
                                               "--rdzv-endpoint",
                                               file,
                                               "--rdzv-id=job",
                                               "--nnodes=1",
                                               worker,
                                               code};
        command.insert(command.end(), options.begin(), options.end());
        Child agent(ports, directory, name + code + ".log", command,
                    {{"PYTHON_EXEC", torch_python()}});
        EXPECT_EQ(agent.end(60s), code == "0" ? 0 : 1) << agent.output();
        return keys_of(bytes_of(file));
      };
      const auto ours = keys("hooke", {hooke_program().string(), "agent"});
      EXPECT_EQ(ours, keys("torchrun", {torch_python(), "-m", "torch.distributed.run"}));
      ASSERT_FALSE(ours.empty());
      EXPECT_EQ(ours.front(), "refcount/=1");
      EXPECT_EQ(ours.back(), "refcount/=0");
    }
  });
}

}  // namespace
}  // namespace hooke::interop
