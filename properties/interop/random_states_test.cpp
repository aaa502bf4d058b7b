// Random states as PyTorch itself stores them, read by hooke and written again: byte for byte the
// same, whatever their nodes are called.
#include <fstream>
#include <iterator>

#include "job.h"
#include "model/rendezvous/state/pickle_text.h"
#include "model/rendezvous/state/state_codec.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

constexpr int kStates = 10'000;
constexpr std::size_t kShownBytes = 2000;

std::vector<std::string> pickles_in(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<std::string> pickles;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t size = 0;
    for (std::size_t i = 4; i > 0; --i) {
      size = size << 8U | static_cast<unsigned char>(all.at(at + i - 1));
    }
    pickles.push_back(all.substr(at + 4, size));
    at += 4 + size;
  }
  return pickles;
}

/// What the states must have in them, or they would prove little.
struct SeenStates {
  int empty_sets = 0;        ///< states with nodes, and without any that waits
  int shared_addresses = 0;  ///< states of which two nodes have one short name
  int non_ascii = 0;
  int one_character = 0;  ///< states in which a node's name is one Latin-1 character
  int large = 0;          ///< states with more nodes than places of one byte in the memo

  void add(const model::RendezvousState& state) {
    if (state.wait_list.empty() && !state.participants.empty()) ++empty_sets;
    std::map<std::string, int> short_names;
    bool ascii = true;
    bool shared = false;
    bool one = false;
    for (const model::Participant& entry : state.participants) {
      ascii = ascii && model::is_ascii(entry.node->addr);
      const std::string& name = entry.node->addr;
      one = one || (!name.empty() && model::shared_text_number(name).has_value());
      shared = shared || (entry.node.has_shared_address() && ++short_names[entry.node->addr] > 1);
    }
    if (shared) ++shared_addresses;
    if (!ascii) ++non_ascii;
    if (one) ++one_character;
    if (state.last_heartbeats.size() > 256) ++large;
  }
};

void compare_random_states(model::Variant variant) {
  const std::string python = torch_python(variant);
  if (python.empty()) GTEST_SKIP() << "no interpreter has PyTorch " << to_string(variant);
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path file = directory / "states";
    Child writer(ports, directory, "writer",
                 {python, script("random_states.py"), "17", std::to_string(kStates), file});
    ASSERT_EQ(writer.end(5min), 0) << writer.output();
    const std::vector<std::string> pickles = pickles_in(file);
    ASSERT_EQ(pickles.size(), static_cast<std::size_t>(kStates));
    SeenStates seen;
    for (std::size_t i = 0; i < pickles.size(); ++i) {
      const model::StateRef state = model::decode_state(sim::Value(pickles[i]), variant);
      // A copy: a state that was read remembers its bytes.
      const sim::Value again =
          model::encode_state(std::make_shared<const model::RendezvousState>(*state), variant);
      const std::string which =
          "state " + std::to_string(i) + ":\n" + to_text(*state).substr(0, kShownBytes);
      ASSERT_EQ(again.size(), pickles[i].size()) << which;
      ASSERT_TRUE(again.bytes() == pickles[i]) << which;
      seen.add(*state);
    }
    std::printf(
        "%s: %d states, all of them the same bytes: %d with empty sets, %d with names that are "
        "not ASCII, %d with names of one Latin-1 character, %d with such a name twice, %d of more "
        "than 256 nodes\n",
        std::string(to_string(variant)).c_str(), kStates, seen.empty_sets, seen.non_ascii,
        seen.one_character, seen.shared_addresses, seen.large);
    EXPECT_GT(seen.one_character, 1000);
    EXPECT_GT(seen.empty_sets, 1000);
    EXPECT_GT(seen.shared_addresses, 1000);
    EXPECT_GT(seen.non_ascii, 1000);
    EXPECT_GT(seen.large, 10);
  });
}

TEST(RandomStates, of_pytorch_2_x_are_written_as_it_writes_them) {
  compare_random_states(model::Variant::torch_2_x);
}

TEST(RandomStates, of_pytorch_1_13_are_written_as_it_writes_them) {
  compare_random_states(model::Variant::torch_1_13);
}

}  // namespace
}  // namespace hooke::interop
