// Every placement is a scenario of its own, played like any other.
#include "scenarios/hunt/mixture.h"

#include <algorithm>

#include "scenarios/hunt/explorer.h"

namespace hooke::hunt {
namespace {

using scenario::NodePlan;
using scenario::Scenario;

std::vector<std::string> ids_of(const Scenario& scenario) {
  std::vector<std::string> ids;
  for (const NodePlan& node : scenario.cluster.nodes) ids.push_back(node.id);
  return ids;
}

bool is_part_of(const Placement& part, const Placement& whole) {
  return std::all_of(part.begin(), part.end(), [&](const std::string& id) {
    return std::find(whole.begin(), whole.end(), id) != whole.end();
  });
}

std::map<std::string, std::vector<std::string>> roles_of(const Scenario& scenario) {
  std::map<std::string, std::vector<std::string>> roles;
  const auto add = [&](const std::string& id, const std::string& role) {
    std::vector<std::string>& all = roles[id];
    if (std::find(all.begin(), all.end(), role) == all.end()) all.push_back(role);
  };
  for (const NodePlan& node : scenario.cluster.nodes) {
    if (node.id == scenario.cluster.store_host) add(node.id, "store");
    if (node.start != sim::Duration::zero()) add(node.id, "late");
    if (node.clock_skew != sim::Duration::zero()) add(node.id, "wrong clock");
    for (const scenario::TimelineEntry& entry : scenario.timeline) {
      for (const std::string& id : entry.from) {
        const bool meant =
            id == node.id || (id == "store_host" && node.id == scenario.cluster.store_host);
        if (meant) add(node.id, entry.what);
      }
    }
  }
  return roles;
}

bool is_expected(const Scenario& scenario, const std::string& invariant) {
  const auto& violates = scenario.expect.violates;
  return std::any_of(violates.begin(), violates.end(), [&](const std::string& pattern) {
    return properties::matches(pattern, invariant);
  });
}

}  // namespace

std::vector<Placement> placements(const Scenario& scenario) {
  const std::vector<std::string> ids = ids_of(scenario);
  std::vector<std::vector<bool>> chosen;
  const auto choose = [&](auto is_hardened) {
    std::vector<bool> one(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) one[i] = is_hardened(i);
    if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) chosen.push_back(one);
  };
  if (ids.size() <= kEveryPlacementMax) {
    for (std::size_t bits = 0; bits < std::size_t{1} << ids.size(); ++bits) {
      choose([&](std::size_t i) { return (bits >> i & 1U) != 0; });
    }
  } else {
    for (std::size_t k = 0; k <= ids.size(); ++k) {
      choose([&](std::size_t i) { return i < k; });
      choose([&](std::size_t i) { return i >= ids.size() - k; });
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
      choose([&](std::size_t i) { return i == k; });
      choose([&](std::size_t i) { return i != k; });
    }
  }
  std::vector<Placement> out;
  for (const std::vector<bool>& one : chosen) {
    Placement& placement = out.emplace_back();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (one[i]) placement.push_back(ids[i]);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Placement& one, const Placement& other) {
    return one.size() < other.size();
  });
  return out;
}

Scenario with_hardened(const Scenario& scenario, const Placement& hardened) {
  Scenario out = scenario;
  for (NodePlan& node : out.cluster.nodes) {
    if (is_part_of({node.id}, hardened)) node.variant = model::Variant::hardened;
  }
  return out;
}

bool can_be_mixed(const Scenario& scenario) {
  return !scenario.canary && !scenario.expect.violates.empty() &&
         scenario.cluster.nodes.size() > 1 && scenario.protocol.defects.empty() &&
         scenario.protocol.variant == model::Variant::torch_2_x;
}

bool Mixture::keeps(const Trial& trial, const std::string& invariant) {
  return !trial.broken.contains(invariant);
}

std::vector<Placement> Mixture::enough(const std::string& invariant) const {
  std::vector<Placement> out;
  for (const Trial& trial : trials) {
    const bool larger_is_known = std::any_of(out.begin(), out.end(), [&](const Placement& smaller) {
      return is_part_of(smaller, trial.hardened);
    });
    const bool lasts = std::all_of(trials.begin(), trials.end(), [&](const Trial& other) {
      return !is_part_of(trial.hardened, other.hardened) || keeps(other, invariant);
    });
    if (lasts && !larger_is_known) out.push_back(trial.hardened);
  }
  return out;
}

std::set<std::string> Mixture::only_mixed() const {
  std::set<std::string> out;
  for (const Trial& trial : trials) {
    for (const auto& [invariant, times] : trial.broken) {
      if (keeps(trials.front(), invariant) && keeps(trials.back(), invariant))
        out.insert(invariant);
    }
  }
  return out;
}

Mixture mix(kernel::Kernel& kernel, const Scenario& scenario, std::int64_t runs,
            const properties::InvariantRegistry& invariants) {
  Mixture mixture;
  mixture.name = scenario.name;
  mixture.nodes = ids_of(scenario);
  mixture.roles = roles_of(scenario);
  mixture.runs = runs;
  for (const Placement& placement : placements(scenario)) {
    Trial& trial = mixture.trials.emplace_back();
    trial.hardened = placement;
    Scenario world = with_hardened(scenario, placement);
    for (std::int64_t run = 0; run < runs; ++run) {
      world.seed = scenario.seed + static_cast<std::uint64_t>(run);
      std::set<std::string> broken;
      for (const FailureKind& kind :
           kinds_of(scenario::run(kernel, world, hunting_options(false), invariants))) {
        broken.insert(kind.invariant);
      }
      for (const std::string& invariant : broken) ++trial.broken[invariant];
    }
  }
  for (const auto& [invariant, count] : mixture.trials.front().broken) {
    if (is_expected(scenario, invariant)) mixture.invariants.push_back(invariant);
  }
  return mixture;
}

}  // namespace hooke::hunt
