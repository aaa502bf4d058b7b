#pragma once
// What invariants are made of: violations and the account of what was judged, obligations that run
// down only while an agent could keep them, times as people read them.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/observe/restart_events.h"
#include "model/observe/shutdown_events.h"
#include "model/observe/trace_events.h"
#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"
#include "sim/world/world_events.h"

namespace hooke::properties {

// What agents say, and what the world does.
namespace ev = model::events;
namespace wev = world::events;

/// "12.345 s": whole milliseconds, rounded down.
std::string seconds_text(sim::WorldTime at);
std::string seconds_text(sim::Duration span);

inline std::int64_t number(const sim::Event& event, std::string_view field) {
  return event.field(field).number();
}
inline std::string_view text(const sim::Event& event, std::string_view field) {
  return event.field(field).text();
}

/// Polls, state caches and network between a cause and what follows from it.
inline constexpr sim::Duration kSlack = std::chrono::seconds(5);
/// An answer on an undisturbed way, and the pause between two looks at the state.
inline constexpr sim::Duration kAnswer = std::chrono::seconds(2);

inline sim::Duration span(const sim::Event& event, std::string_view field) {
  return sim::Duration(number(event, field));
}
inline ProcessKey process_of(const sim::Event& event) {
  return {event.node, event.pid};
}
/// The worker that an agent's event names.
inline ProcessKey worker_of(const sim::Event& event) {
  return {event.node, pid(event, "worker_pid")};
}
/// "SIGTERM".
std::string_view signal_text(const sim::Event& event);
/// The agent's heartbeat has come into the state.
inline bool is_heartbeat(const sim::Event& event) {
  return event.type == &ev::rendezvous_write &&
         (text(event, "action") == "KEEP_ALIVE" || text(event, "action").starts_with("ADD_TO_"));
}
inline bool serves_rendezvous(const sim::Event& event) {
  return event.type == &ev::store_serving && text(event, "purpose") == "rendezvous";
}

/// What a witness names: numbers, words, agents, machines, processes ("pid 7 on node a") and times.
using Part = std::variant<std::int64_t, std::string_view, AgentId, sim::NodeId, sim::Pid,
                          ProcessKey, sim::WorldTime, sim::Duration>;

/// Something that an agent must do within `bound` of `since`.
struct Due {
  sim::WorldTime since{};
  sim::Duration bound{};
  AgentId who = kNoAgent;    ///< owes it
  AgentId about = kNoAgent;  ///< another agent that the witness names
  sim::EventId event{};      ///< what gave rise to it
  /// Other agents that must be able to do their part, and what they need for it.
  std::vector<AgentId> with{};
  Needs with_needs = 0;
  /// The bound is longer by this where a fault takes one of the needs from `who` in its last part,
  /// which is as long.
  sim::Duration lost{};
  Needs lost_needs = 0;
  /// A fault after which it cannot be demanded. Done in time all the same, it counts as kept.
  std::optional<Hindrance> excuse{};
};

/// An invariant that keeps its violations and its account, and looks at the jobs through the shared
/// view.
class Judge : public Invariant {
 public:
  using Interests = std::vector<const sim::EventType*>;
  /// Both texts must outlive the judge: literals. `needs`: what an agent needs in order to keep it.
  Judge(std::string_view id, std::string_view meaning, Interests interests, Needs needs = 0)
      : id_(id),
        meaning_(meaning),
        interests_(std::move(interests)),
        needs_(needs),
        view_(std::make_shared<JobView>()) {}
  [[nodiscard]] std::string_view id() const final { return id_; }
  [[nodiscard]] std::string_view meaning() const final { return meaning_; }
  [[nodiscard]] std::span<const sim::EventType* const> interests() const final {
    return interests_;
  }
  [[nodiscard]] Needs needs() const final { return needs_; }
  [[nodiscard]] const std::vector<Violation>& violations() const final { return violations_; }
  [[nodiscard]] const Account& account() const final { return account_; }
  void bind(std::shared_ptr<JobView> view) final { view_ = std::move(view); }
  /// A judge that is driven without an InvariantSet may be shown every event.
  void on_event(const sim::Event& event) final;
  void finish(const RunFacts& facts) final;

 protected:
  /// Looks at one event of a type it is interested in, which is in the view already.
  virtual void judge(const sim::Event& event) {
    if (const AgentId id = view_->agent_of(event); id != kNoAgent) judge_agent(event, id);
  }
  /// Likewise, unless `judge` is overridden, at one of, or about, the agent's process.
  virtual void judge_agent(const sim::Event& event, AgentId id) {
    static_cast<void>(event), static_cast<void>(id);
  }
  /// Says in a constructor which events are shown to `handle(event)`. Each type once; of what is
  /// declared so, `judge` and `judge_agent` are told nothing.
  template <class Handle>
  void on(std::initializer_list<const sim::EventType*> types, Handle handle) {
    for (const sim::EventType* const type : types) {
      interests_.push_back(type);
      handlers_.emplace_back(type, handle);
    }
  }
  template <class Self>
  void on(std::initializer_list<const sim::EventType*> types,
          void (Self::*handle)(const sim::Event&)) {
    on(types,
       [self = static_cast<Self*>(this), handle](const auto& event) { (self->*handle)(event); });
  }
  /// Likewise to `handle(event, agent)`, unless the event is of, or about, no agent's process.
  template <class Handle>
  void on_agent(std::initializer_list<const sim::EventType*> types, Handle handle) {
    on(types, [this, handle](const sim::Event& event) {
      if (const AgentId id = view_->agent_of(event); id != kNoAgent) handle(event, id);
    });
  }
  template <class Self>
  void on_agent(std::initializer_list<const sim::EventType*> types,
                void (Self::*handle)(const sim::Event&, AgentId)) {
    on_agent(types, [self = static_cast<Self*>(this), handle](const auto& event, AgentId id) {
      (self->*handle)(event, id);
    });
  }
  /// After the last event, before what is still owed is judged.
  virtual void at_end(const RunFacts& facts) { static_cast<void>(facts); }
  [[nodiscard]] const JobView& view() const { return *view_; }
  [[nodiscard]] const Agent& agent(AgentId id) const { return view_->agent(id); }
  [[nodiscard]] const Job& job_of(AgentId id) const { return view_->job(agent(id).job); }

  /// A check was made, and what it is about holds.
  void kept() { kept(1); }
  /// So many were.
  void kept(std::size_t checks) { account_.kept += static_cast<std::int64_t>(checks); }
  /// A check was made and fails. `hindrance`: the fault under which no agent could have kept it; it
  /// is told apart then.
  void broken(const sim::Event& event, std::string witness, const Hindrance* hindrance = nullptr) {
    broken(event.at, event.id, std::move(witness), hindrance);
  }
  void broken(sim::WorldTime at, sim::EventId event, std::string witness,
              const Hindrance* hindrance = nullptr);
  /// Likewise; the witness is `form`, with the parts in the places of its "{}".
  template <class Form, class... Parts>
  void broken(const sim::Event& event, const Hindrance* hindrance, const Form& form,
              const Parts&... parts) {
    broken(event.at, event.id, say(form, parts...), hindrance);
  }
  template <class First, class... Parts>
  void broken(const sim::Event& event, std::string_view form, const First& first,
              const Parts&... parts) {
    broken(event.at, event.id, say(form, first, parts...));
  }
  template <class... Parts>
  [[nodiscard]] std::string say(std::string_view form, const Parts&... parts) const {
    return filled(form, {Part(parts)...});
  }
  /// A check was made and fails, for a fault that took what it needs: nothing to tell of. False for
  /// null: no fault did.
  bool excused(const Hindrance* by);
  /// An obligation, which counts itself, is broken. Only the first few violations are kept: later
  /// ones are usually consequences.
  void violated(sim::WorldTime at, sim::EventId event, std::string witness,
                const Hindrance* hindrance = nullptr);
  /// The worker whose end this is, if it failed by itself: its status is not 0, and its agent had
  /// not told it to stop. Null: it did not, or the event is another one.
  [[nodiscard]] const Process* failed_worker(const sim::Event& event) const;
  /// The job of which the store knows nothing any more, for it is a new one, or an etcd in which
  /// all has expired; kNoJob: every job. nullopt: the event is another one.
  [[nodiscard]] std::optional<JobId> forgotten(const sim::Event& event) const;
  /// No further violation is kept: an examination that takes long may stop.
  [[nodiscard]] bool enough() const { return violations_.size() >= kKept; }
  /// A fault that took one of `needs` from the agent between the two instants; null: none did.
  [[nodiscard]] const Hindrance* hindrance(AgentId who, Needs needs, sim::WorldTime from,
                                           sim::WorldTime to) const;
  /// Likewise from any agent of the job that lived then, other than `but`.
  [[nodiscard]] const Hindrance* hindrance_of_any(JobId job, Needs needs, sim::WorldTime from,
                                                  sim::WorldTime to, AgentId but = kNoAgent) const;
  /// A fault has put an error into the agent, which has begun nothing else since, and then had the
  /// time to stop its workers, or served a store for others; null: none has.
  [[nodiscard]] const Hindrance* error_put_into(AgentId who, sim::WorldTime ended) const;
  /// The agent leaves its round or its place in a queue for such an error, though it may serve a
  /// store for others for long. Told by rendezvous.left or coverage.point.
  [[nodiscard]] bool leaves_with_error(const sim::Event& event, AgentId id) const {
    const bool leaves = event.type == &ev::rendezvous_left || event.type == &ev::coverage_point;
    return leaves && agent(id).errors > 0 && agent(id).stage == Stage::stopping;
  }

 private:
  template <class Key>
  friend class Obligations;

  [[nodiscard]] std::string filled(std::string_view form, std::initializer_list<Part> parts) const;

  enum class Settled : unsigned char { kept, broken, excused, open };
  /// How `due` stands at `at`: done then, or, with `at_end`, not done when the run ended.
  Settled settle(const Due& due, sim::WorldTime at, bool at_end);
  /// Tells of what was `owed`, and of when it happened, if it has.
  void late(const Due& due, const std::string& owed, std::string_view bound, sim::WorldTime at,
            const sim::Event* event);

  static constexpr std::size_t kKept = 5;
  std::string_view id_;
  std::string_view meaning_;
  Interests interests_;
  std::vector<std::pair<const sim::EventType*, std::function<void(const sim::Event&)>>> handlers_;
  Needs needs_;
  std::vector<std::function<void(const RunFacts&)>> obligations_;  ///< end each kind of them
  std::vector<Violation> violations_;
  Account account_;
  std::shared_ptr<JobView> view_;
};

/// What is owed, by key. It runs down only while the agent that owes it, and what it needs, are
/// unhindered. The earliest of a key counts until it is met. What is left when the run ends is
/// judged then.
template <class Key>
class Obligations {
 public:
  /// The beginning of a witness: "agent a died; agent b should have ended".
  using Says = std::function<std::string(const Key&, const Due&)>;
  /// `bound`: what the spans that are owed are made of, a literal such as "monitor + slack".
  Obligations(Judge& judge, std::string_view bound, Says says)
      : judge_(judge), bound_(bound), says_(std::move(says)) {
    judge.obligations_.push_back([this](const RunFacts& facts) {
      for (const auto& [key, due] : std::exchange(due_, {})) settle(key, due, facts.end, nullptr);
    });
  }

  void owe(const Key& key, const Due& due) {
    const auto [found, is_new] = due_.try_emplace(key, due);
    if (is_new || !found->second.excuse) return;
    judge_.excused(&*found->second.excuse);
    found->second = due;
  }
  /// The first instant at which all that is owed now would be overdue; the epoch when nothing is.
  [[nodiscard]] sim::WorldTime latest() const {
    sim::WorldTime out{};
    for (const auto& [key, due] : due_)
      out = std::max(out, due.since + due.bound + sim::Duration(1));
    return out;
  }
  /// Null: nothing.
  [[nodiscard]] Due* find(const Key& key) {
    const auto found = due_.find(key);
    return found == due_.end() ? nullptr : &found->second;
  }
  /// Its premise has ended: nothing is owed any more. False: nothing was.
  bool lapse(const Key& key) { return due_.erase(key) > 0; }
  /// Likewise at `event`, unless it was overdue by then.
  void lapse_unless_late(const Key& key, const sim::Event& event) {
    const Due* const due = find(key);
    if (due != nullptr && event.at > due->since + due->bound) return met(key, event);
    lapse(key);
  }
  /// At `event`, the fault that `by(key, due)` names, if any, excuses what is owed, unless that was
  /// overdue by then.
  template <class By>
  void excuse(By by, const sim::Event& event) {
    std::vector<Key> overdue;
    for (auto& [key, due] : due_) {
      const Hindrance* const fault = due.excuse ? nullptr : by(key, due);
      if (fault == nullptr) continue;
      if (event.at > due.since + due.bound) {
        overdue.push_back(key);
      } else {
        due.excuse = *fault;
      }
    }
    for (const Key& key : overdue) met(key, event);
  }
  /// It has happened, at `event`.
  void met(const Key& key, const sim::Event& event) {
    const auto found = due_.find(key);
    if (found == due_.end()) return;
    const Due due = found->second;
    due_.erase(found);
    settle(key, due, event.at, &event);
  }

 private:
  /// `event`: null when the run ended first.
  void settle(const Key& key, const Due& due, sim::WorldTime at, const sim::Event* event) {
    if (judge_.settle(due, at, event == nullptr) == Judge::Settled::broken)
      judge_.late(due, says_(key, due), bound_, at, event);
  }

  Judge& judge_;
  std::string_view bound_;
  Says says_;
  std::map<Key, Due> due_;
};

}  // namespace hooke::properties
