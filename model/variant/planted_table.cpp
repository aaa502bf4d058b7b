// The tables of both areas, one after the other.
#include "model/variant/planted_table.h"

#include <algorithm>
#include <cstddef>

#include "model/variant/planted_in_agents.h"
#include "model/variant/planted_in_rendezvous.h"

namespace hooke::model {
namespace {

constexpr auto kTable = [] {
  std::array<PlantedDefect, kPlantedInRendezvous.size() + kPlantedInAgents.size()> all{};
  const auto rest =
      std::copy(kPlantedInRendezvous.begin(), kPlantedInRendezvous.end(), all.begin());
  std::copy(kPlantedInAgents.begin(), kPlantedInAgents.end(), rest);
  return all;
}();

static_assert(
    [] {
      for (std::size_t i = 0; i < kTable.size(); ++i) {
        if (static_cast<std::size_t>(kTable[i].which) != i) return false;
      }
      return true;
    }(),
    "the table has the order of the names");

}  // namespace

std::span<const PlantedDefect> planted_defects() {
  return kTable;
}

}  // namespace hooke::model
