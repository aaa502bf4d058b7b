// Whether a planted mistake does anything: in how many worlds of the default swarm the trace is
// another one with it. For an author of one; found.txt has the numbers of all of them.
// Usage: planted_reach WORLDS [PART_OF_A_NAME]...
// Exit code 1 when a mistake changes none of these worlds.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "properties/planted/worlds.h"

namespace {

using namespace hooke;

/// Prints a mistake's line; false: it changes nothing.
bool print_reach(const model::PlantedDefect& mistake, std::uint64_t worlds,
                 planted::Worlds& hardened, planted::Worlds& faithful) {
  std::uint64_t reached = 0;
  std::string first;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    const bool by_hardened = hardened.with(mistake.name, seed).hash != hardened.sound(seed).hash;
    if (!by_hardened && faithful.with(mistake.name, seed).hash == faithful.sound(seed).hash)
      continue;
    if (reached++ == 0)
      first = (by_hardened ? ", hardened " : ", torch-2.x ") + std::to_string(seed) + " first";
  }
  std::printf("%s reached in %llu of %llu worlds%s\n", std::string(mistake.name).c_str(),
              static_cast<unsigned long long>(reached), static_cast<unsigned long long>(worlds),
              first.c_str());
  std::fflush(stdout);
  return reached > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  std::uint64_t worlds = 0;
  if (!arguments.empty()) {
    const std::string_view text = arguments.front();
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), worlds);
    if (parsed.ptr != text.data() + text.size()) worlds = 0;
  }
  if (worlds == 0) {
    std::fprintf(stderr, "usage: planted_reach WORLDS [PART_OF_A_NAME]...\n");
    return 2;
  }
  kernel::Kernel kernel;
  planted::Worlds hardened(kernel, model::Variant::hardened);
  planted::Worlds faithful(kernel, model::Variant::torch_2_x);
  bool all = true;
  for (const model::PlantedDefect& mistake : model::planted_defects()) {
    const bool wanted = arguments.size() == 1 ||
                        std::any_of(arguments.begin() + 1, arguments.end(), [&](auto part) {
                          return mistake.name.find(part) != std::string_view::npos;
                        });
    if (wanted && !print_reach(mistake, worlds, hardened, faithful)) all = false;
  }
  return all ? 0 : 1;
}
