// Faults are few, so each question goes through all of them in the order in which they began.
#include "properties/invariants/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/invariants/judge.h"
#include "sim/port/check.h"

namespace hooke::properties {

std::string_view name_of_first(Needs needs) {
  constexpr std::array<std::pair<Needs, std::string_view>, 14> kNamed{{
      {kRun, "the agent's process"},
      {kClock, "the agent's clock"},
      {kPath, "the path to the store"},
      {kStore, "the store"},
      {kNames, "name resolution"},
      {kContents, "the store's contents"},
      {kTasks, "a background task of the agent"},
      {kKillable, "a worker that cannot be killed"},
      {kOwnRank, "the rank of a static agent"},
      {kMortal, "a process that cannot be killed"},
      {kExpiry, "the end of keys in the store"},
      {kHears, "signals to the agent"},
      {kDisk, "the disk of the agent's machine"},
      {kOwnErrors, "an error put into the agent"},
  }};
  for (const auto& [need, name] : kNamed) {
    if ((needs & need) != 0) return name;
  }
  return "nothing";
}

std::string Hindrance::kind_text() const {
  return fmt::format("{} ({})", name_of_first(effect->hinders), effect->kind);
}

std::string Hindrance::text() const {
  const std::string of = target.empty() ? "" : " of " + target;
  const std::string since = from ? " from " + seconds_text(*from) : "";
  return effect->kind.data() + of + since + (to ? " to " + seconds_text(*to) : " on");
}

Hindrance& Ledger::add(std::string_view kind, std::string_view target) {
  Hindrance& hindrance = hindrances_.emplace_back();
  hindrance.effect = find_effect(kind);
  HOOKE_CHECK(hindrance.effect != nullptr, "a hindrance of a kind that hinders something");
  hindrance.target = target;
  return hindrance;
}

const Hindrance* Ledger::felt(std::int64_t fault, sim::WorldTime at) {
  const auto later = std::find_if(hindrances_.rbegin(), hindrances_.rend(),
                                  [&](const Hindrance& each) { return each.fault == fault; });
  if (later == hindrances_.rend()) return nullptr;
  auto latest = std::prev(later.base());
  const Span span = latest->effect->span;
  if (span == Span::when_felt) {
    if (latest->from) latest = hindrances_.insert(std::next(latest), Hindrance(*latest));
    latest->from = latest->to = at;
  }
  if (span == Span::from_felt && !latest->from) latest->from = at;
  return &*latest;
}

void Ledger::end(std::int64_t fault, sim::WorldTime over) {
  for (Hindrance& hindrance : hindrances_) {
    const Span span = hindrance.effect->span;
    const bool lasts = span == Span::until_over || span == Span::from_felt;
    if (hindrance.fault == fault && lasts) hindrance.to = over;
  }
}

void Ledger::hold_up(sim::NodeId node, sim::Pid pid, sim::WorldTime at, sim::WorldTime over) {
  Hindrance& hindrance = add(kHoldUp, "");
  hindrance.side = {node};
  hindrance.pid = pid;
  hindrance.from = at;
  hindrance.to = over;
  perhaps_silence_store(Hindrance(hindrance));
}

void Ledger::perhaps_silence_store(const Hindrance& stopped) {
  if ((stopped.effect->hinders & kRun) == 0 || stopped.side.size() != 1 || !stopped.pid) return;
  if (!servers_.contains({stopped.side.front(), *stopped.pid})) return;
  Hindrance& store = hindrances_.emplace_back(stopped);
  store.effect = find_effect(kStoreStopped);
}

void Ledger::leases_stopped(std::int64_t fault) {
  const auto clock =
      std::ranges::find_if(hindrances_, [&](const Hindrance& each) { return each.fault == fault; });
  HOOKE_CHECK(clock != hindrances_.end(), "the fault that stops the clock has begun");
  Hindrance leases = *clock;
  leases.effect = find_effect(kLeasesStopped);
  hindrances_.insert(std::next(clock), std::move(leases));
}

void Ledger::store_gone(sim::WorldTime at) {
  add(kStoreGone, "").from = at;
}

void Ledger::store_back(sim::WorldTime at) {
  for (Hindrance& hindrance : hindrances_) {
    if (hindrance.effect->kind == kStoreGone && !hindrance.to) hindrance.to = at;
  }
}

void Ledger::rank_shared(sim::WorldTime at) {
  add(kRankShared, "").from = at;
}

void Ledger::store_of_its_own(sim::NodeId node, sim::Pid pid, sim::WorldTime at) {
  Hindrance& hindrance = add(kStoreOfItsOwn, "");
  hindrance.side = {node};
  hindrance.pid = pid;
  hindrance.from = at;
}

void Ledger::one_store_again(sim::NodeId node, sim::Pid pid, sim::WorldTime at) {
  for (Hindrance& hindrance : hindrances_) {
    const bool is_it = hindrance.effect->kind == kStoreOfItsOwn && hindrance.pid == pid;
    if (is_it && hindrance.side.front() == node && !hindrance.to) hindrance.to = at;
  }
}

void Ledger::store_taken(sim::WorldTime at) {
  Hindrance& hindrance = add(kStoreTaken, "");
  hindrance.from = hindrance.to = at;
}

bool Ledger::a_name_led_astray(sim::WorldTime from, sim::WorldTime to) const {
  return std::ranges::any_of(hindrances_, [&](const Hindrance& hindrance) {
    return hindrance.effect->kind == "dns_alias" && hindrance.from && *hindrance.from <= to &&
           (!hindrance.to || *hindrance.to >= from);
  });
}

bool Ledger::reaches(const Hindrance& hindrance, const Claimant& who) const {
  const auto has = [](const std::vector<sim::NodeId>& side, sim::NodeId node) {
    return side.empty() || std::ranges::find(side, node) != side.end();
  };
  switch (hindrance.effect->reach) {
    case Reach::everyone: return true;
    case Reach::machine: return has(hindrance.side, who.node);
    case Reach::process:
      return has(hindrance.side, who.node) && (!hindrance.pid || *hindrance.pid == who.pid);
    case Reach::paths: break;
  }
  const auto cuts = [&](sim::NodeId store) {
    if (store == who.node) return hindrance.loopback && has(hindrance.side, store);
    if (hindrance.loopback) return false;
    return (has(hindrance.side, who.node) && has(hindrance.other_side, store)) ||
           (has(hindrance.side, store) && has(hindrance.other_side, who.node));
  };
  if (store_machines_.empty()) {  // of two ends, the one that the target names
    return (!hindrance.side.empty() && has(hindrance.side, who.node)) ||
           (!hindrance.other_side.empty() && has(hindrance.other_side, who.node)) ||
           (hindrance.side.empty() && hindrance.other_side.empty());
  }
  return std::ranges::any_of(store_machines_, cuts);
}

sim::Duration Ledger::caught(const Hindrance& hindrance, const Claimant& who) {
  const bool catches = (hindrance.effect->hinders & (kPath | kStore | kNames)) != 0;
  return catches ? who.caught : sim::Duration::zero();
}

const Hindrance* Ledger::find(const Claimant& who, Needs needs, sim::WorldTime from,
                              sim::WorldTime to) const {
  for (const Hindrance& hindrance : hindrances_) {
    if (!applies(hindrance, who, needs) || *hindrance.from > to) continue;
    if (!hindrance.to || *hindrance.to + caught(hindrance, who) >= from) return &hindrance;
  }
  return nullptr;
}

bool Ledger::applies_until(Needs needs, const Claimant& who, sim::WorldTime until) const {
  return std::ranges::any_of(hindrances_, [&](const Hindrance& hindrance) {
    return applies(hindrance, who, needs) && *hindrance.from <= until;
  });
}

std::optional<sim::WorldTime> Ledger::deadline(const Claimant& who, Needs needs,
                                               sim::WorldTime since, sim::Duration bound,
                                               sim::WorldTime reached) const {
  // A deadline that is put off may fall into a hindrance that it had not reached before.
  const bool gives_up = applies_until(kKillable & needs, who, since + bound);
  const sim::WorldTime own = since + bound + (gives_up ? kGiveUp : sim::Duration::zero());
  sim::WorldTime deadline = std::max(own, reached);
  for (bool moved = true; moved;) {
    moved = false;
    for (const Hindrance& hindrance : hindrances_) {
      if (!applies(hindrance, who, needs & ~kKillable) || *hindrance.from > deadline) continue;
      if (!hindrance.to) return std::nullopt;
      const sim::WorldTime over = *hindrance.to + caught(hindrance, who);
      if (over < since || over + bound <= deadline) continue;
      deadline = over + bound;
      moved = true;
    }
  }
  return deadline;
}

const Hindrance* Ledger::endless(const Claimant& who, Needs needs) const {
  const auto found = std::ranges::find_if(hindrances_, [&](const Hindrance& hindrance) {
    return applies(hindrance, who, needs & ~kKillable) && !hindrance.to;
  });
  return found == hindrances_.end() ? nullptr : &*found;
}

std::optional<Disturbance> Ledger::disturbance(const Claimant& who, Needs needs,
                                               sim::WorldTime at) const {
  sim::WorldTime since = at;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Hindrance& hindrance : hindrances_) {
      if (!applies(hindrance, who, needs) || *hindrance.from >= since) continue;
      if (hindrance.to && *hindrance.to + caught(hindrance, who) < since) continue;
      since = *hindrance.from;
      moved = true;
    }
  }
  if (since == at) return std::nullopt;
  sim::WorldTime over = since;
  for (const Hindrance& hindrance : hindrances_) {
    if (!applies(hindrance, who, needs) || *hindrance.from < since || *hindrance.from >= at)
      continue;
    over = std::max(over, std::min(hindrance.to.value_or(at), at));
  }
  return Disturbance{since, over};
}

bool Ledger::drifts(std::optional<sim::NodeId> machine) const {
  return std::ranges::any_of(hindrances_, [&](const Hindrance& hindrance) {
    if (hindrance.effect->kind != "clock_drift") return false;
    const auto& side = hindrance.side;
    return !machine || side.empty() || std::ranges::find(side, *machine) != side.end();
  });
}

sim::Duration Ledger::clock_stood_still(sim::WorldTime at) const {
  sim::Duration out{};
  for (const Hindrance& hindrance : hindrances_) {
    if (hindrance.effect->kind != "clock_freeze" || *hindrance.from >= at) continue;
    out += std::min(hindrance.to.value_or(at), at) - *hindrance.from;
  }
  return out;
}

const Hindrance* Ledger::taken_at(sim::WorldTime at) const {
  const auto found = std::ranges::find_if(hindrances_, [&](const Hindrance& hindrance) {
    return hindrance.effect->kind == kStoreTaken && hindrance.from == at;
  });
  return found == hindrances_.end() ? nullptr : &*found;
}

const Hindrance* Ledger::contents_lost(sim::WorldTime since) const {
  for (const Hindrance& hindrance : hindrances_) {
    if (hindrance.effect->kind != "etcd_expiry" && hindrance.effect->kind != kStoreGone) continue;
    if (hindrance.to.value_or(since) >= since) return &hindrance;
  }
  return nullptr;
}

}  // namespace hooke::properties
