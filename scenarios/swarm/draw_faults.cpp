// A world has a set of words that may happen in it at all; each fault is one of them, with a
// trigger and parameters from a stream of its own.
#include <algorithm>
#include <array>
#include <string_view>

#include "model/observe/raised_errors.h"
#include "properties/invariants/invariant.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/swarm/draws.h"
#include "scenarios/swarm/swarm_parts.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using kernel::Stream;
using scenario::Scenario;
using scenario::TimelineEntry;
using scenario::Word;

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return properties::matches(pattern, name);
  });
}

/// Draws what happens to one world.
class FaultsDrawing {
 public:
  FaultsDrawing(const Swarm& swarm, kernel::SeededSource& source, Scenario& world)
      : swarm_(swarm), source_(source), world_(world) {}
  void draw();

 private:
  std::vector<const Word*> words();
  TimelineEntry fault(Stream& draws, const Word& word);
  scenario::Trigger trigger(Stream& draws);
  void parameters(Stream& draws, const Word& word, TimelineEntry& entry);

  const Swarm& swarm_;
  kernel::SeededSource& source_;
  Scenario& world_;
};

/// What may happen in this world at all.
std::vector<const Word*> FaultsDrawing::words() {
  const bool etcd = world_.protocol.rendezvous.backend.starts_with("etcd");
  std::vector<const Word*> possible;
  for (const Word& word : scenario::vocabulary()) {
    const bool here =
        (etcd || !word.etcd) && (!word.external_store || world_.cluster.store_host.empty());
    // A word that is drawn only where it is named leaves the worlds of all other swarms as they are.
    const bool wanted = word.hunted ? matches_any(swarm_.words, word.name)
                                    : std::ranges::count(swarm_.words, word.name) > 0;
    if (here && wanted) possible.push_back(&word);
  }
  if (possible.empty()) return possible;
  Stream draws(source_, "swarm.words", 0);
  std::vector<const Word*> on;
  for (const Word* const word : possible) {
    if (one_in(draws, word->daily ? 2 : 5)) on.push_back(word);
  }
  if (on.empty()) on.push_back(one_of(draws, possible));
  return on;
}

void FaultsDrawing::draw() {
  Stream draws(source_, "swarm.faults", 0);
  world_.schedule = {one_of(draws, swarm_.strategies), between(draws, {1, 5})};
  if (world_.schedule.strategy != kernel::Strategy::pct &&
      world_.schedule.strategy != kernel::Strategy::delays) {
    world_.schedule.depth = kernel::Schedule().depth;
  }
  // A fiber may be delayed for eight seconds, and any request held for one, of which a heartbeat
  // takes several: in such a world no node can show every second that it lives, and no worker renew
  // a timer just in time by a request.
  const bool delays = world_.schedule.strategy == kernel::Strategy::delays;
  const bool holds = world_.schedule.strategy == kernel::Strategy::holds;
  if (delays || holds) world_.protocol.rendezvous.keep_alive_interval = 5s;
  if (holds) world_.protocol.agent.timer = scenario::AgentPlan().timer;
  const std::int64_t count = between(draws, swarm_.faults);
  const std::vector<const Word*> on = words();
  for (std::int64_t i = 0; i < count && !on.empty(); ++i) {
    Stream own(source_, "swarm.fault", static_cast<std::uint64_t>(i));
    world_.timeline.push_back(fault(own, *one_of(own, on)));
  }
}

scenario::Trigger FaultsDrawing::trigger(Stream& draws) {
  constexpr std::array<std::string_view, 8> kEvents{
      "rendezvous.joining", "rendezvous.joined",    "rendezvous.completed", "worker.started",
      "worker.ended",       "exit_barrier.entered", "rendezvous.closed",    "group.restarting"};
  std::vector<std::string_view> points;
  for (const std::string_view point : scenario::fault_points()) {
    const bool legacy = world_.protocol.rendezvous.backend == "etcd";
    if (point.starts_with("legacy.") && !legacy) continue;
    if (matches_any(swarm_.fault_points, point)) points.push_back(point);
  }
  scenario::Trigger out;
  const std::uint64_t kind = draws.below(4);
  if (kind == 2) {
    out.event = one_of(draws, kEvents);
  } else if (kind == 3 && !points.empty()) {
    out.fault_point = one_of(draws, points);
  } else {
    out.at = std::min(moment(draws, 90), world_.time_limit);
    return out;
  }
  if (one_in(draws, 2)) out.on_node = some_node(draws, world_);
  out.passage = 1 + static_cast<std::int64_t>(one_in(draws, 2) ? draws.below(4) : 0);
  if (out.event && one_in(draws, 2)) out.after = span(draws);
  return out;
}

TimelineEntry FaultsDrawing::fault(Stream& draws, const Word& word) {
  TimelineEntry entry;
  entry.what = word.name;
  entry.trigger = trigger(draws);
  parameters(draws, word, entry);
  if (one_in(draws, 10)) {
    entry.every = seconds(draws, 1, 20);
    entry.times = between(draws, {2, 4});
  }
  return entry;
}

void FaultsDrawing::parameters(Stream& draws, const Word& word, TimelineEntry& entry) {
  const auto maybe = [&](unsigned parameter) {
    return word.needs(parameter) || (word.takes(parameter) && one_in(draws, 2));
  };
  if (word.takes(scenario::kNode)) {
    // A fault point's own node is meant where none is named.
    const bool implied = entry.trigger.fault_point && one_in(draws, 2);
    const bool by_role = one_in(draws, 4);
    if (by_role) {
      entry.from = {one_in(draws, 2) ? "store_host" : "rank0"};
    } else if (!implied) {
      entry.from = {some_node(draws, world_)};
    }
  }
  if (word.takes(scenario::kPaths)) {
    entry.from = {one_in(draws, 4) ? std::string("store_host") : some_node(draws, world_)};
    if (one_in(draws, 2)) entry.to = {one_in(draws, 4) ? "store_host" : some_node(draws, world_)};
    if (entry.to == entry.from) entry.to.clear();  // no network cuts a machine off from itself
    entry.one_way = one_in(draws, 3);
  }
  if (maybe(scenario::kLocalRank))
    entry.local_rank = between(draws, {0, world_.workers.per_node - 1});
  if (maybe(scenario::kSignal)) {
    constexpr std::array<std::string_view, 5> kSignals{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT",
                                                       "SIGKILL"};
    entry.signal = one_of(draws, kSignals);
  }
  // What lasts for ever is rarely what a job meets.
  if (word.needs(scenario::kFor) || (word.takes(scenario::kFor) && !one_in(draws, 4)))
    entry.duration = span(draws);
  if (maybe(scenario::kBy)) {
    entry.span = span(draws);
    if (word.negative_by && one_in(draws, 2)) entry.span = -*entry.span;
  }
  if (maybe(scenario::kAmount)) {
    const auto [low, high, unit] = word.drawn;
    const std::int64_t count = low == high ? low : between(draws, {low, high});
    entry.amount = std::clamp(count * unit, word.amount.min, word.amount.max);
  }
  if (maybe(scenario::kText)) {
    if (word.text_is == scenario::TextIs::name) {
      entry.text = some_node(draws, world_);
    } else if (word.text_is == scenario::TextIs::error) {
      entry.text = one_of(draws, model::raised::kAll);
    } else {
      entry.text = one_in(draws, 3) ? "watchdog" : "keep_alive";
    }
  }
}

}  // namespace

void draw_faults(const Swarm& swarm, kernel::SeededSource& source, Scenario& world) {
  FaultsDrawing(swarm, source, world).draw();
}

}  // namespace hooke::hunt
