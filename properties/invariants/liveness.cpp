// Obligations are taken on by one event and met by another; what is late or still owed at the end
// is a violation.
#include "properties/invariants/liveness.h"

#include <fmt/format.h>

#include <set>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using namespace std::chrono_literals;
using Phase = Roll::Phase;

constexpr sim::Duration kSlack = 5s;
constexpr sim::Duration kStopGrace = 30s;

/// A liveness promise with one obligation per agent.
class AgentObligation : public Judge {
 public:
  using Judge::Judge;
  void finish(const RunFacts& facts) override {
    for (const auto& late : due_.overdue(facts.end))
      broken(late.deadline, sim::kNoEvent, late.witness);
  }

 protected:
  void met(ProcessKey agent, const sim::Event& event) {
    for (const auto& late : due_.meet(agent, event.at)) {
      broken(late.deadline, event.id,
             late.witness + fmt::format(" (it took until {})", seconds_text(event.at)));
    }
  }
  Roll roll_;
  Obligations<ProcessKey> due_;
};

class LossDetection final : public AgentObligation {
 public:
  LossDetection()
      : AgentObligation(
            "liveness.loss_detection",
            "A lost participant leads to a new round or to the end within bounded time.") {}

  void on_event(const sim::Event& event) override {
    const ProcessKey key = process_of(event);
    const Roll::Agent* const before = roll_.find(key);
    const bool lost =
        event.type == &wev::process_ended && before != nullptr && before->phase == Phase::running;
    const std::int64_t round = lost ? before->round : 0;
    roll_.on_event(event);
    if (lost) owe(event, key, round);
    if (event.type == &ev::group_restarting || event.type == &ev::agent_finished ||
        event.type == &wev::process_ended || event.type == &ev::exit_barrier_entered) {
      met(key, event);
    }
  }

 private:
  void owe(const sim::Event& event, ProcessKey dead, std::int64_t round) {
    const std::string& run_id = roll_.find(dead)->run_id;
    for (const auto& [key, agent] : roll_.agents()) {
      if (agent.run_id != run_id || agent.round != round || agent.phase != Phase::running) continue;
      const sim::Duration bound = agent.keep_alive + agent.monitor + kSlack;
      due_.add(
          key, event.at + bound,
          fmt::format(
              "{} died at {} as a participant of round {}; {} should have started a new round or "
              "ended by {} (keep-alive {} + monitor {} + {})",
              roll_.describe(dead), seconds_text(event.at), round, roll_.describe(key),
              seconds_text(event.at + bound), seconds_text(agent.keep_alive),
              seconds_text(agent.monitor), seconds_text(kSlack)));
    }
  }
};

class Formation final : public AgentObligation {
 public:
  Formation()
      : AgentObligation("liveness.formation",
                        "If enough nodes want to join, a round completes in bounded time.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    const ProcessKey key = process_of(event);
    if (event.type == &ev::rendezvous_joining) {
      owe(event);
    } else if (event.type == &ev::rendezvous_joined || event.type == &ev::rendezvous_completed) {
      met(key, event);
    } else if (event.type == &wev::process_ended || event.type == &ev::rendezvous_failed) {
      // Who has gone owes nothing; the others wait for enough again.
      due_.cancel(key);
      const Roll::Agent* const gone = roll_.find(key);
      if (gone == nullptr ||
          joining(gone->run_id).size() >= static_cast<std::size_t>(gone->min_nodes))
        return;
      for (const ProcessKey& other : joining(gone->run_id)) due_.cancel(other);
    } else if (event.type == &ev::group_state || event.type == &wev::fault_injected) {
      return;
    }
  }

 private:
  [[nodiscard]] std::vector<ProcessKey> joining(const std::string& run_id) const {
    std::vector<ProcessKey> out;
    for (const auto& [key, agent] : roll_.agents()) {
      if (agent.run_id == run_id && agent.phase == Phase::joining) out.push_back(key);
    }
    return out;
  }
  /// Once enough agents want to join and none of the run is at work, each of them is owed a round.
  void owe(const sim::Event& event) {
    const std::string run_id = text(event, "run_id");
    const std::vector<ProcessKey> waiting = joining(run_id);
    for (const auto& [key, agent] : roll_.agents()) {
      const bool elsewhere = agent.phase == Phase::running || agent.phase == Phase::barrier ||
                             agent.phase == Phase::stopping;
      if (agent.run_id == run_id && elsewhere) return;
    }
    for (const ProcessKey& key : waiting) {
      const Roll::Agent& agent = *roll_.find(key);
      if (waiting.size() < static_cast<std::size_t>(agent.min_nodes)) return;
      // The first rendezvous may still be connecting to a store that comes up late.
      const sim::Duration bound = agent.keep_alive + agent.last_call + kStopGrace + kSlack;
      due_.add(
          key, event.at + bound,
          fmt::format(
              "{} agents wanted to join run \"{}\" at {}, {} are enough; {} should have been in a "
              "round by {} (keep-alive {} + last call {} + grace {} + {})",
              waiting.size(), run_id, seconds_text(event.at), agent.min_nodes, roll_.describe(key),
              seconds_text(event.at + bound), seconds_text(agent.keep_alive),
              seconds_text(agent.last_call), seconds_text(kStopGrace), seconds_text(kSlack)));
    }
  }
};

class Exit final : public AgentObligation {
 public:
  Exit()
      : AgentObligation("liveness.exit",
                        "After a terminal outcome every agent ends in bounded time.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    const ProcessKey key = process_of(event);
    if (event.type == &wev::process_ended) {
      met(key, event);
    } else if (event.type == &ev::agent_finished) {
      const std::string outcome = text(event, "outcome");
      const Roll::Agent* const self = roll_.find(key);
      if (self == nullptr || (outcome != "succeeded" && outcome != "failed")) return;
      for (const auto& [other, agent] : roll_.agents()) {
        if (!agent.alive() || agent.run_id != self->run_id) continue;
        const sim::Duration bound = agent.exit_barrier + agent.close + kStopGrace + kSlack;
        due_.add(
            other, event.at + bound,
            fmt::format("the job was over at {} ({}: {}), {} should have ended by {} (exit barrier "
                        "{} + close "
                        "{} + grace {} + {})",
                        seconds_text(event.at), roll_.describe(key), outcome, roll_.describe(other),
                        seconds_text(event.at + bound), seconds_text(agent.exit_barrier),
                        seconds_text(agent.close), seconds_text(kStopGrace), seconds_text(kSlack)));
      }
    }
  }
};

class Admission final : public AgentObligation {
 public:
  Admission()
      : AgentObligation("liveness.admission",
                        "A joiner is admitted, made a spare, or told to go in bounded time.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    const ProcessKey key = process_of(event);
    if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") != "wait_list") return met(key, event);
      const Roll::Agent* const agent = roll_.find(key);
      if (agent == nullptr) return;
      const sim::Duration bound = agent->keep_alive + agent->last_call + kStopGrace + kSlack;
      due_.add(
          key, event.at + bound,
          fmt::format("{} has been on the wait list since {}, it should have been admitted by {} "
                      "(keep-alive {} "
                      "+ last call {} + grace {} + {})",
                      roll_.describe(key), seconds_text(event.at), seconds_text(event.at + bound),
                      seconds_text(agent->keep_alive), seconds_text(agent->last_call),
                      seconds_text(kStopGrace), seconds_text(kSlack)));
    } else if (event.type == &ev::rendezvous_joined || event.type == &ev::rendezvous_failed ||
               event.type == &wev::process_ended) {
      met(key, event);
    }
  }
};

class SignalsTakeEffect final : public AgentObligation {
 public:
  SignalsTakeEffect()
      : AgentObligation("liveness.signals_take_effect",
                        "A signal to an agent takes effect in bounded time.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    const ProcessKey key = process_of(event);
    if (event.type == &wev::process_ended) {
      met(key, event);
    } else if (event.type == &wev::process_signalled) {
      const Roll::Agent* const agent = roll_.find(key);
      const auto signal = static_cast<sim::Signal>(static_cast<int>(number(event, "signal")));
      const bool asks_to_go = signal == sim::Signal::term || signal == sim::Signal::int_ ||
                              signal == sim::Signal::hup || signal == sim::Signal::quit;
      if (agent == nullptr || !agent->alive() || !asks_to_go) return;
      const sim::Duration bound = kStopGrace + agent->close + kSlack;
      due_.add(key, event.at + bound,
               fmt::format("{} got {} at {} and should have ended by {} (grace {} + close {} + {})",
                           roll_.describe(key), to_string(signal), seconds_text(event.at),
                           seconds_text(event.at + bound), seconds_text(kStopGrace),
                           seconds_text(agent->close), seconds_text(kSlack)));
    }
  }
};

class NoLivelock final : public Judge {
 public:
  NoLivelock() : Judge("liveness.no_livelock", "Without new faults, restarts stop.") {}

  void on_event(const sim::Event& event) override {
    const bool disturbance = event.type == &wev::fault_injected ||
                             event.type == &wev::fault_ended || event.type == &ev::agent_started ||
                             event.type == &ev::agent_finished ||
                             (event.type == &ev::worker_ended && number(event, "stopped") == 0 &&
                              number(event, "status") != 0) ||
                             event.type == &wev::node_crashed || event.type == &wev::node_restarted;
    if (disturbance) {
      rounds_.clear();
    } else if (event.type == &ev::rendezvous_completed) {
      Count& count = rounds_[text(event, "run_id")];
      if (count.rounds++ == 0) count.since = event.at;
      if (count.rounds != kRoundsMax + 1) return;
      broken(event,
             fmt::format(
                 "{} rounds of run \"{}\" were completed since {} although nothing happened that "
                 "would call for one",
                 count.rounds, text(event, "run_id"), seconds_text(count.since)));
    }
  }

 private:
  static constexpr int kRoundsMax = 5;
  struct Count {
    int rounds = 0;
    sim::WorldTime since{};
  };
  std::map<std::string, Count> rounds_;
};

class BlipTolerance final : public Judge {
 public:
  BlipTolerance()
      : Judge("liveness.blip_tolerance",
              "A short fault of store or network does not end a healthy agent.") {}

  void on_event(const sim::Event& event) override {
    const ProcessKey key = process_of(event);
    const Roll::Agent* const before = roll_.find(key);
    if (before != nullptr && event.type == &ev::group_state && text(event, "state") == "HEALTHY")
      worked_.insert(key);
    roll_.on_event(event);
    if (event.type == &ev::store_serving && text(event, "purpose") == "rendezvous") {
      store_ = key;
      store_lost_ = false;
    } else if (event.type == &wev::process_ended && store_ == key) {
      store_lost_ = true;
    } else if (event.type == &ev::agent_finished && text(event, "outcome") == "error" &&
               !store_lost_) {
      const std::string detail = text(event, "detail");
      const bool connection = detail.starts_with("RendezvousConnectionError") ||
                              detail.starts_with("DistNetworkError") ||
                              detail.starts_with("DistStoreError");
      if (!connection || !worked_.contains(key)) return;
      broken(event, fmt::format("{} ended although its store (pid {} on node {}) is alive: {}",
                                roll_.describe(key), store_.pid, store_.node.value, detail));
    }
  }

 private:
  Roll roll_;
  std::set<ProcessKey> worked_;
  ProcessKey store_;
  bool store_lost_ = false;
};

}  // namespace

std::unique_ptr<Invariant> make_loss_detection() {
  return std::make_unique<LossDetection>();
}
std::unique_ptr<Invariant> make_formation() {
  return std::make_unique<Formation>();
}
std::unique_ptr<Invariant> make_exit() {
  return std::make_unique<Exit>();
}
std::unique_ptr<Invariant> make_admission() {
  return std::make_unique<Admission>();
}
std::unique_ptr<Invariant> make_signals_take_effect() {
  return std::make_unique<SignalsTakeEffect>();
}
std::unique_ptr<Invariant> make_no_livelock() {
  return std::make_unique<NoLivelock>();
}
std::unique_ptr<Invariant> make_blip_tolerance() {
  return std::make_unique<BlipTolerance>();
}

}  // namespace hooke::properties
