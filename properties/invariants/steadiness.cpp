// A job at rest stays at rest, and small disturbances leave it alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/liveness.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Bound: 5 rounds in a row without anything new: no fault that begins or ends, no agent that
/// starts, ends or is told to, no worker that fails by itself, outlives its timer or falls silent.
/// A group of newcomers is admitted in one or two rounds.
class NoLivelock final : public Judge {
 public:
  NoLivelock() : Judge("liveness.no_livelock", "Without new faults, restarts stop.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

 private:
  static constexpr int kRoundsMax = 5;
  struct Count {
    int rounds = 0;
    std::int64_t latest_round = kNoRound;
    sim::WorldTime since{};
  };

  void judge(const sim::Event& event) override {
    if (event.type != &ev::rendezvous_completed) {
      if (is_news(event)) {
        for (auto& [job, count] : counts_) count.rounds = 0;
      }
      return;
    }
    const JobId job = view().find_job(text(event, "run_id"));
    Count& count = counts_[job];
    if (number(event, "round") == count.latest_round) return;  // two writers of one completion
    count.latest_round = number(event, "round");
    if (count.rounds++ == 0) count.since = event.at;
    if (count.rounds != kRoundsMax + 1 || enough()) return;
    broken(
        event,
        fmt::format(
            "job \"{}\" completed {} rounds from {} to {}, the latest of them round {}, although "
            "nothing had happened that calls for one: no fault, no failure, no agent that came or "
            "went",
            text(event, "run_id"), count.rounds, seconds_text(count.since), seconds_text(event.at),
            count.latest_round),
        view().in_force("", event.at) ? "a fault was still in force" : "");
  }

  [[nodiscard]] bool is_news(const sim::Event& event) const {
    if (event.type != &wev::process_ended) return true;
    if (view().agent_of(event) != kNoAgent) return true;
    const Process* const process = view().process(event.node, event.pid);
    return process != nullptr && process->worker && !process->told_to_stop &&
           number(event, "status") != 0;
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::rendezvous_completed, &ev::agent_started,   &ev::agent_signalled, &ev::agent_finished,
      &wev::process_ended,       &wev::fault_injected, &wev::fault_ended,    &wev::node_restarted,
      &ev::timer_expired,        &ev::heartbeat_lost};
  std::map<JobId, Count> counts_;
};

/// A healthy agent ends with a connection error although its store lives: broken, unless network,
/// stores or names were disturbed for longer than the join time-out (a node may wait that long to
/// get in, so it can wait that long to stay). A disturbance without a planned end excuses whoever
/// held out for a read time-out, by its own clock. A disturbance counts for a read time-out + slack
/// after it is over. Answers that are lost one after the other are one disturbance.
class BlipTolerance final : public Judge {
 public:
  BlipTolerance()
      : Judge("liveness.blip_tolerance",
              "A short fault of store or network does not end a healthy agent.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts&) override {
    for (const Loss& loss : losses_) tell(loss);
  }

 private:
  static constexpr sim::Duration kSlack = std::chrono::seconds(5);
  struct Loss {
    AgentId agent = kNoAgent;
    sim::WorldTime at{};
    sim::EventId event{};
    std::string detail;
  };

  void judge(const sim::Event& event) override {
    if (event.type == &ev::store_serving) {
      if (text(event, "purpose") != "rendezvous") return;
      store_ = process_of(event);
      store_alive_ = true;
      return;
    }
    if (event.type == &wev::process_ended) {
      if (process_of(event) == store_) store_alive_ = false;
      return;
    }
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &ev::rendezvous_failed) {
      failed_[id] = event.at;
      return;
    }
    if (event.type == &ev::mark) {  // a static rendezvous tells of no failure of its own
      if (text(event, "name") == "store_lingers") failed_.try_emplace(id, event.at);
      return;
    }
    const Agent& agent = view().agent(id);
    const bool healthy = agent.round != kNoRound && !agent.signalled && !view().job(agent.job).over;
    if (!store_alive_ || !healthy || text(event, "outcome") != "error" || losses_.size() >= 64)
      return;
    const std::string_view detail = text(event, "detail");
    for (const std::string_view error :
         {"RendezvousConnectionError", "DistNetworkError", "DistStoreError"}) {
      if (!detail.starts_with(error)) continue;
      const auto failed = failed_.find(id);  // long before its end, where it has served others on
      losses_.push_back(
          {id, failed == failed_.end() ? event.at : failed->second, event.id, std::string(detail)});
    }
  }

  /// One disturbance may take over from another.
  [[nodiscard]] sim::WorldTime disturbed_since(const Fault& last) const {
    sim::WorldTime since = last.begin;
    const auto& faults = view().faults();
    for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
      if (fault->disturbance && fault->begin < since && fault->end.value_or(since) >= since)
        since = fault->begin;
    }
    return since;
  }

  /// A read time-out by the clock of the agent, who cannot know that it goes wrong: by a tenth at
  /// most.
  [[nodiscard]] sim::Duration patience_of(const Loss& loss) const {
    const Agent& agent = view().agent(loss.agent);
    const sim::Duration patience = agent.timeouts.read_timeout;
    const auto& faults = view().faults();
    const bool drifts = std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return fault.kind == "clock_drift" && fault.begin <= loss.at &&
             view().node_called(fault.target) == agent.node;
    });
    return drifts ? patience * 10 / 11 : patience;
  }

  /// For how long answers had been lost, without a read time-out + slack between two of them.
  [[nodiscard]] sim::Duration answers_lost_for(const Loss& loss) const {
    const sim::Duration gap_max = view().agent(loss.agent).timeouts.read_timeout + kSlack;
    sim::WorldTime since = loss.at;
    int lost = 0;
    const auto& faults = view().faults();
    for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
      if (fault->kind != "service_reply_lost" || !fault->felt || *fault->felt > since) continue;
      if (since - *fault->felt > gap_max) break;
      since = *fault->felt;
      ++lost;
    }
    return lost > 1 ? loss.at - since : sim::Duration::zero();
  }

  void tell(const Loss& loss) {
    const Timeouts& with = view().agent(loss.agent).timeouts;
    const sim::Duration patience = patience_of(loss);
    if (answers_lost_for(loss) >= patience) return;
    std::string blip = "no fault disturbed anything";
    for (const Fault& fault : view().faults()) {
      const bool felt = fault.begin <= loss.at &&
                        (!fault.end || loss.at <= *fault.end + with.read_timeout + kSlack);
      if (!fault.disturbance) {
        if (felt && loss.at - fault.begin <= with.read_timeout + kSlack) {
          blip = fmt::format("there was only a {} at {}", fault.kind, seconds_text(fault.begin));
        }
        continue;
      }
      if (!felt) continue;
      // What outlasts the agent's patience is no blip.
      const sim::Duration lasted = fault.end.value_or(loss.at) - disturbed_since(fault);
      if (lasted >= patience) return;
      blip = fmt::format("there was only a {} from {} on, and it had lasted {}", fault.kind,
                         seconds_text(fault.begin), seconds_text(lasted));
    }
    if (enough()) return;
    broken(loss.at, loss.event,
           fmt::format("{}, a healthy member, ended at {} with \"{}\" although its store (pid {} "
                       "on node {}) lived: {}",
                       view().describe(loss.agent), seconds_text(loss.at), loss.detail,
                       store_.pid.value, view().name(store_.node), blip),
           view().one_was_led_astray(loss.at) ? kLedAstray : "");
  }

  static constexpr const sim::EventType* kInterests[] = {&ev::store_serving, &wev::process_ended,
                                                         &ev::rendezvous_failed, &ev::mark,
                                                         &ev::agent_finished};
  /// When the rendezvous did so last; else when the agent, done for, began to serve others on.
  std::map<AgentId, sim::WorldTime> failed_;
  ProcessKey store_;
  bool store_alive_ = false;
  std::vector<Loss> losses_;
};

}  // namespace

std::unique_ptr<Invariant> make_no_livelock() {
  return std::make_unique<NoLivelock>();
}
std::unique_ptr<Invariant> make_blip_tolerance() {
  return std::make_unique<BlipTolerance>();
}

}  // namespace hooke::properties
