// The table of routes is built once; an event costs one binary search over some forty pointers.
#include "properties/invariants/invariant_set.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace hooke::properties {

InvariantSet::InvariantSet(const InvariantRegistry& registry)
    : view_(std::make_shared<JobView>()), all_(registry.make_all()) {
  for (const sim::EventType* type : JobView::interests()) route_to(type).in_view = true;
  for (const auto& invariant : all_) {
    invariant->bind(view_);
    const auto interests = invariant->interests();
    if (interests.empty()) curious_.push_back(invariant.get());
    for (const sim::EventType* type : interests)
      route_to(type).invariants.push_back(invariant.get());
  }
}

InvariantSet::Route& InvariantSet::route_to(const sim::EventType* type) {
  const auto place = std::lower_bound(
      routes_.begin(), routes_.end(), type,
      [](const Route& route, const auto* wanted) { return std::less<>()(route.type, wanted); });
  if (place != routes_.end() && place->type == type) return *place;
  return *routes_.insert(place, Route{type, false, {}});
}

const InvariantSet::Route* InvariantSet::find(const sim::EventType* type) const {
  const auto place = std::lower_bound(
      routes_.begin(), routes_.end(), type,
      [](const Route& route, const auto* wanted) { return std::less<>()(route.type, wanted); });
  return place != routes_.end() && place->type == type ? &*place : nullptr;
}

void InvariantSet::call(sim::NodeId node, std::string_view name) {
  view_->call(node, name);
}

void InvariantSet::give(sim::NodeId node, std::shared_ptr<const Given> given) {
  view_->give(node, std::move(given));
}

void InvariantSet::on_event(const sim::Event& event) {
  const Route* const route = find(event.type);
  if (route != nullptr) {
    if (route->in_view) view_->see(event);
    for (Invariant* const invariant : route->invariants) invariant->on_event(event);
  }
  for (Invariant* const invariant : curious_) invariant->on_event(event);
}

sim::WorldTime InvariantSet::owed_until() const {
  sim::WorldTime latest{};
  for (const auto& invariant : all_) latest = std::max(latest, invariant->owed_until());
  return latest;
}

std::vector<Violation> InvariantSet::finish(const RunFacts& facts) {
  std::vector<Violation> found;
  for (const auto& invariant : all_) {
    invariant->finish(facts);
    const auto& broken = invariant->violations();
    found.insert(found.end(), broken.begin(), broken.end());
  }
  return found;
}

std::map<std::string, Account> InvariantSet::accounts() const {
  std::map<std::string, Account> out;
  for (const auto& invariant : all_) out.emplace(invariant->id(), invariant->account());
  return out;
}

}  // namespace hooke::properties
