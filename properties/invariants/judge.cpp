// Times as text, the account, and obligations that faults put off.
#include "properties/invariants/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/port/check.h"
#include "sim/port/process_host.h"

namespace hooke::properties {

std::string seconds_text(sim::Duration span) {
  const std::int64_t ms = span.count() / 1'000'000;
  return fmt::format("{}.{:03} s", ms / 1000, ms % 1000);
}

std::string seconds_text(sim::WorldTime at) {
  return seconds_text(at.time_since_epoch());
}

std::string Judge::filled(std::string_view form, std::initializer_list<Part> parts) const {
  struct Words {
    const JobView& view;
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(std::string_view text) const { return std::string(text); }
    std::string operator()(AgentId agent) const { return view.describe(agent); }
    std::string operator()(sim::NodeId node) const { return view.name(node); }
    std::string operator()(sim::Pid pid) const { return std::to_string(pid.value); }
    std::string operator()(sim::WorldTime at) const { return seconds_text(at); }
    std::string operator()(sim::Duration span) const { return seconds_text(span); }
    std::string operator()(ProcessKey process) const {
      return fmt::format("pid {} on node {}", process.pid.value, view.name(process.node));
    }
  };
  std::string out;
  for (const Part& part : parts) {
    const std::size_t place = form.find("{}");
    HOOKE_CHECK(place != std::string_view::npos, "a witness has a place for each of its parts");
    out.append(form.substr(0, place)).append(std::visit(Words{*view_}, part));
    form.remove_prefix(place + 2);
  }
  return out.append(form);
}

std::string_view signal_text(const sim::Event& event) {
  return to_string(static_cast<sim::Signal>(static_cast<int>(number(event, "signal"))));
}

void Judge::on_event(const sim::Event& event) {
  view_->see(event);
  for (const auto& [type, handle] : handlers_) {
    if (type == event.type) return handle(event);
  }
  const bool wanted = std::ranges::find(interests_, event.type) != interests_.end();
  if (wanted || interests_.empty()) judge(event);
}

void Judge::finish(const RunFacts& facts) {
  at_end(facts);
  for (const auto& end : obligations_) end(facts);
}

void Judge::broken(sim::WorldTime at, sim::EventId event, std::string witness,
                   const Hindrance* hindrance) {
  if (!excused(hindrance)) ++account_.broken;
  violated(at, event, std::move(witness), hindrance);
}

bool Judge::excused(const Hindrance* by) {
  if (by == nullptr) return false;
  ++account_.excused;
  ++account_.excused_by[by->kind_text()];
  return true;
}

void Judge::violated(sim::WorldTime at, sim::EventId event, std::string witness,
                     const Hindrance* hindrance) {
  if (enough()) return;
  violations_.push_back({std::string(id_), std::move(witness), at, event,
                         hindrance != nullptr ? hindrance->kind_text() : std::string()});
}

const Hindrance* Judge::hindrance(AgentId who, Needs needs, sim::WorldTime from,
                                  sim::WorldTime to) const {
  return view_->ledger().find(view_->claimant(who), needs, from, to);
}

const Hindrance* Judge::hindrance_of_any(JobId job, Needs needs, sim::WorldTime from,
                                         sim::WorldTime to, AgentId but) const {
  if (job == kNoJob) return nullptr;
  for (const AgentId id : view_->job(job).agents) {
    const Agent& agent = view_->agent(id);
    if (id == but || agent.started > to || (agent.ended && *agent.ended < from)) continue;
    if (const auto* const found = hindrance(id, needs, from, to)) return found;
  }
  return nullptr;
}

const Hindrance* Judge::error_put_into(AgentId who, sim::WorldTime ended) const {
  if (agent(who).errors == 0) return nullptr;
  const sim::Duration stops = std::max(kStopGrace, agent(who).timeouts.shutdown) + kSlack;
  const bool serves = std::ranges::any_of(view_->services(), [&](const Service& service) {
    return service.agent == who && (service.ended == sim::kNoEvent || service.to >= ended);
  });
  return hindrance(who, kOwnErrors, serves ? agent(who).started : ended - stops, ended);
}

const Process* Judge::failed_worker(const sim::Event& event) const {
  if (event.type != &wev::process_ended || number(event, "status") == 0) return nullptr;
  const Process* const process = view_->process(event.node, event.pid);
  const bool failed = process != nullptr && process->worker && !process->told_to_stop;
  return failed ? process : nullptr;
}

std::optional<JobId> Judge::forgotten(const sim::Event& event) const {
  if (event.type == &wev::fault_injected && text(event, "kind") == "etcd_expiry") return kNoJob;
  if (!serves_rendezvous(event)) return std::nullopt;
  const AgentId server = view_->agent_of(event);
  return server == kNoAgent ? kNoJob : agent(server).job;
}

Judge::Settled Judge::settle(const Due& due, sim::WorldTime at, bool at_end) {
  const Ledger& ledger = view_->ledger();
  // What a clock measures may take a tenth longer: no simulated clock is wrong by more.
  const bool measured = ((needs_ | due.with_needs) & kClock) != 0;
  const bool drifts = measured && ledger.drifts(std::nullopt);
  const sim::Duration drift = drifts ? due.bound / 10 : sim::Duration();
  const sim::WorldTime last = due.since + std::max(due.bound - due.lost, sim::Duration());
  const bool has_lost =
      ledger.find(view_->claimant(due.who), due.lost_needs, last, due.since + due.bound);
  const sim::Duration bound = due.bound + drift + (has_lost ? due.lost : sim::Duration());
  const sim::WorldTime configured = due.since + bound;
  if (at <= configured) {
    ++(at_end ? account_.open : account_.kept);
    return at_end ? Settled::open : Settled::kept;
  }
  if (due.excuse) {
    excused(&*due.excuse);
    return Settled::excused;
  }
  auto deadline = std::optional(configured);
  const Hindrance* for_good = nullptr;
  const auto wait_for = [&](AgentId agent, Needs own_needs) {
    Claimant claimant = view_->claimant(agent);
    if (agent != due.who) claimant.until = view_->agent(agent).ended.value_or(claimant.until);
    const sim::WorldTime reached = deadline.value_or(configured);
    const auto own = ledger.deadline(claimant, own_needs, due.since, bound, reached);
    if (!own && for_good == nullptr) for_good = ledger.endless(claimant, own_needs);
    if (!own || (deadline && *own > *deadline)) deadline = own;
  };
  // Until another could do its part, nothing could be done. What hinders one of them by then counts
  // as what hinders it from the beginning.
  for (auto before = deadline; deadline; before = deadline) {
    wait_for(due.who, needs_);
    for (const AgentId other : due.with) wait_for(other, due.with_needs);
    if (deadline == before) break;
  }
  if (deadline && at > *deadline) {
    ++account_.broken;
    return Settled::broken;
  }
  ++account_.put_off;
  if (deadline && !at_end) {
    ++account_.kept;
    return Settled::kept;
  }
  if (deadline) {
    ++account_.open;
    return Settled::open;
  }
  HOOKE_CHECK(for_good != nullptr, "what puts an obligation off for good is in the ledger");
  excused(for_good);
  return Settled::excused;
}

void Judge::late(const Due& due, const std::string& owed, std::string_view bound, sim::WorldTime at,
                 const sim::Event* event) {
  const sim::WorldTime deadline = due.since + due.bound;
  violated(deadline, event == nullptr ? sim::kNoEvent : event->id,
           fmt::format("{} by {} ({}: {}), but {} {}", owed, seconds_text(deadline), bound,
                       seconds_text(due.bound),
                       event == nullptr ? "had not when the run ended at" : "did so only at",
                       seconds_text(at)));
}

}  // namespace hooke::properties
