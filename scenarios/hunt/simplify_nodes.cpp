// A node goes with all that names it; the sizes of a round follow or stay.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenarios/hunt/simplification_steps.h"
#include "scenarios/hunt/simplifications.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Without the names; nullopt when they were all that the entry was about.
std::optional<scenario::TimelineEntry> entry_without(scenario::TimelineEntry entry,
                                                     const std::vector<std::string>& gone) {
  if (is_among(gone, entry.trigger.on_node)) return std::nullopt;
  for (std::vector<std::string>* const names : {&entry.from, &entry.to}) {
    const bool named = !names->empty();
    std::erase_if(*names, [&](const std::string& name) { return is_among(gone, name); });
    if (named && names->empty()) return std::nullopt;
  }
  return entry;
}

Scenario without_nodes(const Scenario& from, const std::vector<std::string>& gone) {
  Scenario out = from;
  std::erase_if(out.cluster.nodes,
                [&](const scenario::NodePlan& node) { return is_among(gone, node.id); });
  if (is_among(gone, out.cluster.store_host) && !out.cluster.nodes.empty()) {
    out.cluster.store_host = out.cluster.nodes.front().id;
  }
  out.timeline.clear();
  for (const scenario::TimelineEntry& entry : from.timeline) {
    if (auto kept = entry_without(entry, gone)) out.timeline.push_back(std::move(*kept));
  }
  if (out.core) {
    std::erase_if(out.core->nodes, [&](const std::string& name) { return is_among(gone, name); });
    if (out.core->nodes.empty()) out.core.reset();
  }
  std::erase_if(out.workers.overrides, [&](const auto& override_program) {
    return is_among(gone, override_program.first.substr(0, override_program.first.find('/')));
  });
  return out;
}

bool drop_these_nodes(ShrinkSearch& search, std::size_t first, std::size_t count) {
  const Scenario& best = search.scenario();
  std::vector<std::string> gone;
  for (std::size_t i = first; i < first + count; ++i) gone.push_back(best.cluster.nodes[i].id);
  Scenario candidate = without_nodes(best, gone);
  const std::string what =
      count > kNamesMax
          ? fmt::format("without {} nodes from {} to {}", count, gone.front(), gone.back())
          : fmt::format("without the node{} {}", count > 1 ? "s" : "", fmt::join(gone, ", "));
  const auto left = static_cast<std::int64_t>(candidate.cluster.nodes.size());
  if (left == 0) return false;
  scenario::RendezvousPlan& sizes = candidate.protocol.rendezvous;
  const scenario::RendezvousPlan before = sizes;
  sizes.max_nodes = std::max<std::int64_t>(1, before.max_nodes - static_cast<std::int64_t>(count));
  sizes.min_nodes = std::clamp<std::int64_t>(before.min_nodes - static_cast<std::int64_t>(count), 1,
                                             sizes.max_nodes);
  if (search.attempt(candidate, what)) return true;
  sizes.max_nodes = before.max_nodes;
  sizes.min_nodes = std::min(before.min_nodes, left);
  if (search.attempt(candidate, what)) return true;
  sizes = before;
  return search.attempt(candidate, what);
}

}  // namespace

void drop_nodes(ShrinkSearch& search) {
  drop_chunks(
      [&] { return search.scenario().cluster.nodes.size(); },
      [&](std::size_t first, std::size_t count) { return drop_these_nodes(search, first, count); });
}

void join_variants(ShrinkSearch& search) {
  Scenario candidate = search.scenario();
  std::vector<scenario::NodePlan>& nodes = candidate.cluster.nodes;
  const model::Variant first = candidate.variant_of(nodes.front());
  const bool same = std::all_of(nodes.begin(), nodes.end(), [&](const scenario::NodePlan& node) {
    return search.scenario().variant_of(node) == first;
  });
  if (!same) return;
  candidate.protocol.variant = first;
  for (scenario::NodePlan& node : nodes) node.variant.reset();
  if (candidate != search.scenario()) search.step_aside(candidate, "one variant for all");
}

}  // namespace hooke::hunt
