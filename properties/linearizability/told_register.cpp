// What is kept, then the history that follows from it, then the words.
#include "properties/linearizability/told_register.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hooke::properties {
namespace {

using Kind = RegisterOperation::Kind;

/// On the world's clock, and never shorter than it was: a node's clock may run a tenth slow or
/// fast, or stand still.
RegisterOperation timed(const ToldOperation& told, const ToldRegister::Surroundings& around) {
  const sim::Duration stood_still = around.clock_stood_still(told.at);
  return {told.kind, told.expected, told.value, told.at - told.began * 9 / 8 - stood_still,
          told.at - told.ended * 7 / 8};
}

RegisterOperation unseen_after(const ToldOperation& latest,
                               const ToldRegister::Surroundings& around) {
  const bool knows_value = latest.kind != Kind::attempt;
  return {Kind::unseen,
          knows_value ? latest.value : latest.expected,
          0,
          timed(latest, around).ended,
          {}};
}

std::uint64_t process_of(const ToldOperation& told) {
  return std::uint64_t{static_cast<std::uint32_t>(told.node.value)} << 32U |
         static_cast<std::uint32_t>(told.pid.value);
}

/// Values are digests; a person tells them apart by their ends.
std::string state(std::int64_t digest) {
  return digest == 0 ? "no state" : fmt::format("state \"{:08x}\"", digest & 0xffffffff);
}
std::string seconds(sim::WorldTime at) {
  const std::int64_t ms = at.time_since_epoch().count() / 1'000'000;
  return fmt::format("{}.{:03} s", ms / 1000, ms % 1000);
}
std::string when(const ToldOperation& told) {
  return fmt::format("({} to {})", seconds(told.first()), seconds(told.last()));
}

}  // namespace

void ToldRegister::take(const ToldOperation& operation) {
  latest_.insert_or_assign(process_of(operation), operation);
  if (operation.kind == Kind::read) {
    const auto [known, is_new] = reads_.try_emplace(operation.value);
    Reads& reads = known->second;
    if (is_new || operation.last() < reads.first.last()) reads.first = operation;
    if (is_new || operation.first() > reads.last.first()) reads.last = operation;
    return;
  }
  if (const auto known = reads_.find(operation.value); known != reads_.end()) {
    keep(known->second);
    reads_.erase(known);
  }
  operations_.push_back(operation);
}

void ToldRegister::keep(const Reads& reads) {
  operations_.push_back(reads.first);
  if (reads.last.event != reads.first.event) operations_.push_back(reads.last);
}

void ToldRegister::keep_reads() {
  std::vector<std::pair<std::int64_t, Reads>> in_order(reads_.begin(), reads_.end());
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [state, reads] : in_order) keep(reads);
  reads_.clear();
}

std::vector<ToldOperation> ToldRegister::latest() const {
  std::vector<ToldOperation> out;
  out.reserve(latest_.size());
  for (const auto& [process, last] : latest_) out.push_back(last);
  std::sort(out.begin(), out.end(), [](const ToldOperation& a, const ToldOperation& b) {
    return std::pair(a.node, a.pid) < std::pair(b.node, b.pid);
  });
  return out;
}

void ToldRegister::part_died(const std::function<bool(sim::NodeId, sim::Pid)>& is_that_process) {
  for (const ToldOperation& last : latest()) {
    if (is_that_process(last.node, last.pid)) before_deaths_.push_back(last);
  }
}

std::vector<ToldOperation> ToldRegister::unexplained(Surroundings around, std::size_t at_most) {
  keep_reads();
  RegisterHistory history;
  history.gaps = around.gaps;
  history.may_vanish = around.may_vanish;
  sim::WorldTime written{};
  for (const ToldOperation& operation : operations_) {
    history.operations.push_back(timed(operation, around));
    if (operation.kind == Kind::read) continue;
    if (operation.at - written >= around.life_min &&
        (!history.may_vanish || written < *history.may_vanish))
      history.may_vanish = written + around.life_min;
    written = operation.at;
  }
  for (const ToldOperation& last : latest()) {
    if (around.may_write_after(last)) history.operations.push_back(unseen_after(last, around));
  }
  for (const ToldOperation& latest : before_deaths_)
    history.operations.push_back(unseen_after(latest, around));
  std::vector<ToldOperation> out;
  for (const std::size_t index : contradictions(history, at_most))
    out.push_back(operations_[index]);
  return out;
}

// ---- what a person reads

/// The latest write of another value over what `other` expected that is over by `until`.
const ToldOperation* ToldRegister::replacement(const ToldOperation& other,
                                               sim::WorldTime until) const {
  const ToldOperation* found = nullptr;
  for (const ToldOperation& each : operations_) {
    if (each.kind != Kind::write || each.event == other.event || each.value == each.expected)
      continue;
    const std::int64_t expected = other.kind == Kind::read ? other.value : other.expected;
    if (each.expected != expected || each.last() > until) continue;
    if (found == nullptr || each.last() > found->last()) found = &each;
  }
  return found;
}

/// Whether a client has, or may have, put `value` there since `since`.
bool ToldRegister::put_back(std::int64_t value, sim::WorldTime since, sim::WorldTime until) const {
  return std::any_of(operations_.begin(), operations_.end(), [&](const ToldOperation& each) {
    return each.kind != Kind::read && each.value == value && each.first() <= until &&
           (each.kind == Kind::attempt || each.last() >= since);
  });
}

std::string ToldRegister::witness(const ToldOperation& told, const Name& name) const {
  if (told.kind == Kind::read) {
    const std::string read =
        fmt::format("{} found {} {}", name(told), state(told.value), when(told));
    const ToldOperation* const gone = replacement(told, told.first());
    if (gone != nullptr && !put_back(told.value, gone->last(), told.last())) {
      return fmt::format("{}, which {} had replaced {}, and which no process had put back", read,
                         name(*gone), when(*gone));
    }
    return fmt::format("{}, {}", read, last_fitting(told, name));
  }
  const std::string wrote =
      fmt::format("{} replaced {} {}", name(told), state(told.expected), when(told));
  const ToldOperation* const other = replacement(told, told.last());
  if (other != nullptr && !put_back(told.expected, other->last(), told.last())) {
    return fmt::format("{}, and so had {} {}: one of the two writes was lost", wrote, name(*other),
                       when(*other));
  }
  return fmt::format("{}, {}", wrote, last_fitting(told, name));
}

std::string ToldRegister::last_fitting(const ToldOperation& told, const Name& name) const {
  const ToldOperation* last = nullptr;
  for (const ToldOperation& each : operations_) {
    if (each.kind == Kind::attempt || each.last() >= told.first()) continue;
    if (last == nullptr || each.last() > last->last()) last = &each;
  }
  if (last == nullptr) return "which no order of what agents did at that time explains";
  return fmt::format(
      "which no order of what agents did explains: the last of them before that was {}, which {} "
      "{} "
      "{}",
      name(*last), last->kind == Kind::read ? "found" : "wrote", state(last->value), when(*last));
}

}  // namespace hooke::properties
