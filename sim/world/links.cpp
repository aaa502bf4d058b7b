// Latency quantiles and the bookkeeping of path faults.
#include "sim/world/links.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::world {
namespace {

constexpr std::uint64_t kQuantiles = 1024;

bool contains(const std::vector<sim::NodeId>& set, sim::NodeId node) {
  return set.empty() || std::find(set.begin(), set.end(), node) != set.end();
}

/// The latency at quantile q/1024: linear between half the median, the median, a point on the way
/// at 90 %, the 99th percentile, and twice that.
sim::Duration quantile(const LatencyModel& model, std::uint64_t q) {
  struct Knot {
    std::uint64_t q;
    sim::Duration value;
  };
  const Knot knots[] = {{0, model.median / 2},
                        {512, model.median},
                        {922, model.median + (model.p99 - model.median) / 4},
                        {1014, model.p99},
                        {1024, model.p99 * 2}};
  HOOKE_CHECK(q <= 1024 && model.median <= model.p99,
              "a quantile is one of a distribution in order");
  std::size_t i = 1;
  while (q > knots[i].q) ++i;
  const Knot& low = knots[i - 1];
  const Knot& high = knots[i];
  HOOKE_CHECK(q >= low.q && low.value <= high.value, "a latency lies between its knots");
  const auto part = static_cast<std::int64_t>(q - low.q);
  return low.value + (high.value - low.value) * part / static_cast<std::int64_t>(high.q - low.q);
}

}  // namespace

Link::Link(const Machine& from_machine, const Machine& to_machine)
    : from(from_machine.id),
      to(to_machine.id),
      from_key(from_machine.key),
      to_key(to_machine.key) {}

const LinkFault* Link::fault(FaultKind kind) const {
  for (const LinkFault& fault : faults) {
    if (fault.kind == kind) return &fault;
  }
  return nullptr;
}

const LinkFault* Link::blocked() const {
  if (faults.empty()) return nullptr;
  const LinkFault* const partition = fault(FaultKind::net_partition);
  return partition != nullptr ? partition : fault(FaultKind::net_clog);
}

Link& Links::between(const Machine& from, const Machine& to) {
  const auto [entry, created] = links_.try_emplace(std::pair(from.id, to.id), from, to);
  HOOKE_CHECK(entry->second.from == from.id && entry->second.to == to.id,
              "a link leads where it is looked for");
  if (created) {
    for (const auto& [paths, fault] : active_) {
      if (covers(paths, from.id, to.id)) entry->second.faults.push_back(fault);
    }
  }
  return entry->second;
}

sim::Duration Links::draw_latency(Link& link) const {
  if (link.from == link.to) return options_.loopback;
  const LatencyModel& model = options_.latency;
  if (model.p99 == model.median) return model.median;
  // Choice 0 is the median: quantiles are counted from the middle.
  const std::uint64_t drawn = choices_.choose(
      {"network.latency", link.from_key, link.to_key, link.latencies_drawn++}, kQuantiles);
  HOOKE_CHECK(drawn < kQuantiles, "a draw is one of the quantiles");
  return quantile(model, (drawn + kQuantiles / 2) % kQuantiles);
}

bool Links::draw_loss(Link& link, std::int64_t ratio_ppm) const {
  HOOKE_CHECK(ratio_ppm >= 0 && ratio_ppm <= 1'000'000, "a loss is a share of all writes");
  constexpr std::uint64_t kMillion = 1'000'000;
  const std::uint64_t drawn =
      choices_.choose({"network.loss", link.from_key, link.to_key, link.losses_drawn++}, kMillion);
  HOOKE_CHECK(drawn < kMillion, "a draw is below its bound");
  return drawn >= kMillion - static_cast<std::uint64_t>(ratio_ppm);  // 0, the quiet choice, is kept
}

void Links::add(const PathSet& paths, const LinkFault& fault) {
  HOOKE_CHECK(fault.span >= sim::Duration::zero(), "a fault of a path makes nothing faster");
  active_.emplace_back(paths, fault);
  for (auto& [ends, link] : links_) {
    if (covers(paths, ends.first, ends.second)) link.faults.push_back(fault);
  }
}

void Links::remove(FaultId fault) {
  std::erase_if(active_, [&](const auto& entry) { return entry.second.id == fault; });
  for (auto& [ends, link] : links_) {
    std::erase_if(link.faults, [&](const LinkFault& entry) { return entry.id == fault; });
  }
}

sim::Duration Links::backlog(FaultId fault, sim::WorldTime now) const {
  sim::Duration longest{};
  for (const auto& [ends, link] : links_) {
    const bool acts = std::any_of(link.faults.begin(), link.faults.end(),
                                  [&](const LinkFault& entry) { return entry.id == fault; });
    if (acts) longest = std::max(longest, link.free_at - now);
  }
  return longest;
}

bool Links::covers(const PathSet& paths, sim::NodeId from, sim::NodeId to) {
  if (from == to) return paths.loopback && contains(paths.from, from);
  if (paths.loopback) return false;
  const bool forward = contains(paths.from, from) && contains(paths.to, to);
  const bool backward = contains(paths.from, to) && contains(paths.to, from);
  return forward || (!paths.one_way && backward);
}

}  // namespace hooke::world
