#include "scenarios/hunt/sweep.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "model/observe/event_registry.h"
#include "scenarios/hunt/explorer.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using scenario::Scenario;
using scenario::TimelineEntry;

/// Told again and again, or told of others: they bound nothing that is not bounded already.
constexpr std::array<std::string_view, 8> kNoise{
    "keep_alive.tick",  "rendezvous.exchanged", "agent.settings",  "coverage.point",
    "rendezvous.write", "heartbeat.received",   "rendezvous.cost", "watchdog.changed"};

/// Collects the boundaries of a run as they pass, and when.
class Surveyor final : public kernel::TraceSink {
 public:
  explicit Surveyor(const Scenario& scenario) {
    for (const scenario::NodePlan& node : scenario.cluster.nodes) names_.push_back(node.id);
  }

  void on_event(const sim::Event& event) override {
    const bool told_by_an_agent =
        event.node.value < names_.size() && model::find_event_type(event.type->name) != nullptr;
    const bool noise = std::find(kNoise.begin(), kNoise.end(), event.type->name) != kNoise.end();
    if (!told_by_an_agent || noise) return;
    Boundary boundary{std::string(event.type->name), names_[event.node.value], 0};
    boundary.passage = ++passages_[{boundary.event, boundary.node}];
    found.emplace_back(boundary, event.at);
  }

  std::vector<std::pair<Boundary, sim::WorldTime>> found;

 private:
  std::vector<std::string> names_;
  std::map<std::pair<std::string, std::string>, std::int64_t> passages_;
};

std::vector<std::pair<Boundary, sim::WorldTime>> survey(
    kernel::Kernel& kernel, const Scenario& scenario,
    const properties::InvariantRegistry& invariants) {
  Surveyor surveyor(scenario);
  scenario::RunOptions options = hunting_options(false);
  options.sinks.push_back(&surveyor);
  scenario::run(kernel, scenario, options, invariants);
  return std::move(surveyor.found);
}

TimelineEntry fault(const char* what) {
  TimelineEntry entry;
  entry.what = what;
  return entry;
}

TimelineEntry lasting(const char* what, sim::Duration span) {
  TimelineEntry entry = fault(what);
  entry.duration = span;
  return entry;
}

/// What may happen to `node`, or to the store, at any moment.
std::vector<TimelineEntry> faults_at(const Scenario& scenario, const std::string& node) {
  std::vector<TimelineEntry> out{
      fault("agent.kill"),   fault("node.crash"),         lasting("node.crash", 10s),
      fault("agent.signal"), lasting("agent.pause", 20s), fault("worker.signal"),
      fault("worker.hang"),  fault("thread.dies"),        lasting("net.partition", 20s),
      fault("net.reset"),    lasting("store.stop", 20s),  fault("store.reply_lost"),
      fault("store.error")};
  for (TimelineEntry& entry : out) {
    const bool of_the_store = entry.what.starts_with("store.");
    if (!of_the_store) entry.from = {node};
    if (entry.what == "agent.signal") entry.signal = "SIGTERM";
    if (entry.what == "thread.dies") entry.text = "keep_alive";
    if (entry.what == "store.error") entry.duration = 1s;
    if (entry.what.starts_with("worker.")) entry.local_rank = 0;
  }
  if (scenario.cluster.store_host.empty()) out.push_back(fault("store.restart"));
  return out;
}

}  // namespace

std::vector<Boundary> boundaries(kernel::Kernel& kernel, const Scenario& scenario,
                                 const properties::InvariantRegistry& invariants) {
  std::vector<Boundary> out;
  for (const auto& [boundary, at] : survey(kernel, scenario, invariants)) out.push_back(boundary);
  return out;
}

std::vector<Boundary> boundaries_touched_by_last_fault(
    kernel::Kernel& kernel, const Scenario& scenario,
    const properties::InvariantRegistry& invariants) {
  Scenario without = scenario;
  without.timeline.pop_back();
  const auto before = survey(kernel, without, invariants);
  const std::set<std::pair<Boundary, sim::WorldTime>> untouched(before.begin(), before.end());
  std::vector<Boundary> out;
  for (const auto& there : survey(kernel, scenario, invariants)) {
    if (!untouched.contains(there)) out.push_back(there.first);
  }
  return out;
}

std::vector<std::string> words_of_sweeps(const Scenario& scenario) {
  std::vector<std::string> words;
  for (const TimelineEntry& entry : faults_at(scenario, "")) {
    if (std::find(words.begin(), words.end(), entry.what) == words.end()) {
      words.push_back(entry.what);
    }
  }
  return words;
}

std::vector<Scenario> with_one_fault_more(const Scenario& scenario,
                                          const std::vector<Boundary>& boundaries,
                                          const std::vector<std::string>& words) {
  std::vector<Scenario> out;
  for (const Boundary& boundary : boundaries) {
    for (TimelineEntry& entry : faults_at(scenario, boundary.node)) {
      const bool wanted = std::any_of(words.begin(), words.end(), [&](const std::string& pattern) {
        return properties::matches(pattern, entry.what);
      });
      if (!wanted) continue;
      entry.trigger.event = boundary.event;
      entry.trigger.on_node = boundary.node;
      entry.trigger.passage = boundary.passage;
      Scenario world = scenario;
      world.timeline.push_back(std::move(entry));
      world.expect = {};
      out.push_back(std::move(world));
    }
  }
  return out;
}

}  // namespace hooke::hunt
