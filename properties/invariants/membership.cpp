// Each class follows only the events it needs.
#include "properties/invariants/membership.h"

#include <fmt/format.h>

#include <set>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using namespace std::chrono_literals;

class OneWorld final : public Judge {
 public:
  OneWorld()
      : Judge("safety.one_world",
              "At no time do two disjoint sets of workers of one run both live on.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    if (event.type == &ev::worker_started) {
      const SetKey key{text(event, "run_id"), number(event, "round"), text(event, "master")};
      const ProcessKey worker{event.node, number(event, "worker_pid")};
      sets_[key].insert(worker);
      set_of_[worker] = key;
      if (const Roll::Agent* agent = roll_.find(process_of(event))) {
        tolerance_ = std::max(tolerance_, agent->keep_alive + agent->monitor + 30s + 1s);
      }
      compare(event.at, event.id);
    } else if (event.type == &wev::process_ended) {
      const auto found = set_of_.find(process_of(event));
      if (found == set_of_.end()) return;
      compare(event.at, event.id);
      sets_[found->second].erase(found->first);
      if (sets_[found->second].empty()) sets_.erase(found->second);
      set_of_.erase(found);
      forget_ended_pairs();
    }
  }
  void finish(const RunFacts& facts) override { compare(facts.end, sim::kNoEvent); }

 private:
  struct SetKey {
    std::string run_id;
    std::int64_t round = 0;
    std::string master;
    auto operator<=>(const SetKey&) const = default;
  };

  void compare(sim::WorldTime now, sim::EventId event) {
    for (auto a = sets_.begin(); a != sets_.end(); ++a) {
      for (auto b = std::next(a); b != sets_.end(); ++b) {
        if (a->first.run_id != b->first.run_id) continue;
        const auto [since, fresh] = together_.try_emplace({a->first, b->first}, now);
        if (now - since->second <= tolerance_ || !told_.insert({a->first, b->first}).second)
          continue;
        broken(
            now, event,
            fmt::format(
                "run \"{}\" has had two living worker sets since {}: {} worker(s) of round {} "
                "meeting "
                "at {} and {} worker(s) of round {} meeting at {}; a lost node and its workers may "
                "take {} to be noticed and stopped",
                a->first.run_id, seconds_text(since->second), a->second.size(), a->first.round,
                a->first.master, b->second.size(), b->first.round, b->first.master,
                seconds_text(tolerance_)));
      }
    }
  }
  void forget_ended_pairs() {
    std::erase_if(together_, [&](const auto& entry) {
      return !sets_.contains(entry.first.first) || !sets_.contains(entry.first.second);
    });
  }

  Roll roll_;
  sim::Duration tolerance_{};
  std::map<SetKey, std::set<ProcessKey>> sets_;
  std::map<ProcessKey, SetKey> set_of_;
  std::map<std::pair<SetKey, SetKey>, sim::WorldTime> together_;
  std::set<std::pair<SetKey, SetKey>> told_;
};

class RankSanity final : public Judge {
 public:
  RankSanity()
      : Judge("safety.rank_sanity",
              "Ranks of a round are unique, below the world size, and agreed by all.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::store_serving && text(event, "purpose") == "rendezvous") rounds_.clear();
    if (event.type != &ev::rendezvous_joined) return;
    const std::string who = text(event, "descriptor");
    const std::int64_t rank = number(event, "rank");
    const std::int64_t size = number(event, "world_size");
    const std::int64_t round = number(event, "round");
    auto& members = rounds_[{text(event, "run_id"), round}];
    if (rank >= size) {
      broken(event, fmt::format("{} joined round {} with rank {} of a world of {}", who, round,
                                rank, size));
    }
    for (const auto& [other, theirs] : members) {
      if (other == who) continue;
      if (theirs.first == rank) {
        broken(event,
               fmt::format("in round {} both {} and {} have rank {}", round, other, who, rank));
      }
      if (theirs.second != size) {
        broken(event, fmt::format("in round {} {} sees a world of {}, {} one of {}", round, other,
                                  theirs.second, who, size));
        break;
      }
    }
    members[who] = {rank, size};
    // Only the two latest rounds can still be joined.
    while (rounds_.size() > 4) rounds_.erase(rounds_.begin());
  }

 private:
  std::map<std::pair<std::string, std::int64_t>,
           std::map<std::string, std::pair<std::int64_t, std::int64_t>>>
      rounds_;
};

class RoundMonotonic final : public Judge {
 public:
  RoundMonotonic()
      : Judge("safety.round_monotonic", "The rounds an agent takes part in only grow.") {}

  void on_event(const sim::Event& event) override {
    if (event.type != &ev::rendezvous_joined) return;
    const std::int64_t round = number(event, "round");
    const auto [entry, first] =
        latest_.try_emplace({process_of(event), text(event, "run_id")}, round);
    if (!first && round <= entry->second) {
      broken(event, fmt::format("{} joined round {} after round {}", text(event, "descriptor"),
                                round, entry->second));
    }
    entry->second = round;
  }

 private:
  std::map<std::pair<ProcessKey, std::string>, std::int64_t> latest_;
};

class RoundIsolation final : public Judge {
 public:
  RoundIsolation()
      : Judge("safety.round_isolation", "A value read in a round was written in that round.") {}

  void on_event(const sim::Event& event) override {
    if (event.type != &ev::worker_stale_read) return;
    broken(event,
           fmt::format(
               "worker pid {} on node {} read \"{}\" from another incarnation of its group: {}",
               event.pid.value, event.node.value, text(event, "key"), text(event, "detail")));
  }
};

class Bounds final : public Judge {
 public:
  Bounds()
      : Judge("safety.bounds", "A completed round has at least min and at most max participants.") {
  }

  void on_event(const sim::Event& event) override {
    if (event.type != &ev::rendezvous_completed) return;
    const std::int64_t participants = number(event, "participants");
    const std::int64_t low = number(event, "min_nodes");
    const std::int64_t high = number(event, "max_nodes");
    if (participants >= low && participants <= high) return;
    broken(event, fmt::format(
                      "round {} of run \"{}\" completed with {} participants; {} to {} are allowed",
                      number(event, "round"), text(event, "run_id"), participants, low, high));
  }
};

class ClosedIsFinal final : public Judge {
 public:
  ClosedIsFinal()
      : Judge("safety.closed_is_final",
              "Once closed, a rendezvous never completes another round.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::store_serving && text(event, "purpose") == "rendezvous") closed_.clear();
    if (event.type == &ev::rendezvous_closed) closed_.try_emplace(text(event, "run_id"), event.at);
    if (event.type != &ev::rendezvous_completed) return;
    const auto found = closed_.find(text(event, "run_id"));
    if (found == closed_.end()) return;
    broken(event, fmt::format("round {} of run \"{}\" completed although it was closed at {}",
                              number(event, "round"), found->first, seconds_text(found->second)));
  }

 private:
  std::map<std::string, sim::WorldTime> closed_;
};

class CloseAuthority final : public Judge {
 public:
  CloseAuthority()
      : Judge(
            "safety.close_authority",
            "Only the job's terminal outcome closes the rendezvous, never one node's departure.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    if (event.type != &ev::rendezvous_closed) return;
    const ProcessKey closer = process_of(event);
    const Roll::Agent* const self = roll_.find(closer);
    if (self == nullptr || self->state == "FAILED") return;
    for (const auto& [key, other] : roll_.agents()) {
      const bool works = other.phase == Roll::Phase::running || other.phase == Roll::Phase::joining;
      if (key == closer || other.run_id != self->run_id || !works) continue;
      broken(event,
             fmt::format(
                 "{} ({}) closed run \"{}\" while {} {}", roll_.describe(closer),
                 self->signalled ? "told to go by a signal" : "its group is " + self->state,
                 self->run_id, roll_.describe(key),
                 other.phase == Roll::Phase::running ? "had healthy workers" : "wanted to join"));
      return;
    }
  }

 private:
  Roll roll_;
};

}  // namespace

std::unique_ptr<Invariant> make_one_world() {
  return std::make_unique<OneWorld>();
}
std::unique_ptr<Invariant> make_rank_sanity() {
  return std::make_unique<RankSanity>();
}
std::unique_ptr<Invariant> make_round_monotonic() {
  return std::make_unique<RoundMonotonic>();
}
std::unique_ptr<Invariant> make_round_isolation() {
  return std::make_unique<RoundIsolation>();
}
std::unique_ptr<Invariant> make_bounds() {
  return std::make_unique<Bounds>();
}
std::unique_ptr<Invariant> make_closed_is_final() {
  return std::make_unique<ClosedIsFinal>();
}
std::unique_ptr<Invariant> make_close_authority() {
  return std::make_unique<CloseAuthority>();
}

}  // namespace hooke::properties
