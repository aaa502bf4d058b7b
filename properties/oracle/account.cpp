// What each invariant judged in one slice of the default swarm's worlds.
// properties/oracle/record_account adds slices up.
// Usage: oracle_account VARIANT FIRST COUNT
// A line for each invariant: its id, then kept, broken, excused, open and put off.
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

#include "model/variant/variant.h"
#include "scenarios/hunt/accounts.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace {

using namespace hooke;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

hunt::Accounts judged(model::Variant variant, std::uint64_t first, std::uint64_t count) {
  hunt::Swarm swarm;
  swarm.variants = {variant};
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  hunt::Accounts out;
  for (std::uint64_t seed = first; seed - first < count; ++seed) {
    const auto world = hunt::draw(swarm, seed);
    hunt::add(out, scenario::run(kernel, world, hunt::hunting_options(false), invariants).accounts);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto variant = argc == 4 ? model::variant_from(argv[1]) : std::nullopt;
  const auto first = argc == 4 ? number(argv[2]) : std::nullopt;
  const auto count = argc == 4 ? number(argv[3]) : std::nullopt;
  if (!variant || !first || !count || *count == 0) {
    std::fprintf(stderr, "usage: oracle_account VARIANT FIRST COUNT\n");
    return 2;
  }
  for (const auto& [id, account] : judged(*variant, *first, *count)) {
    std::printf("%s %lld %lld %lld %lld %lld\n", id.c_str(), static_cast<long long>(account.kept),
                static_cast<long long>(account.broken), static_cast<long long>(account.excused),
                static_cast<long long>(account.open), static_cast<long long>(account.put_off));
  }
  return 0;
}
