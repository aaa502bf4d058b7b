#pragma once
// What invariants are made of: keeping violations, writing times as people read them, and
// deadlines.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"

namespace hooke::properties {

/// "12.345 s": whole milliseconds, rounded down.
std::string seconds_text(sim::WorldTime at);
std::string seconds_text(sim::Duration span);

inline std::int64_t number(const sim::Event& event, std::string_view field) {
  return event.field(field).number();
}
inline std::string_view text(const sim::Event& event, std::string_view field) {
  return event.field(field).text();
}
inline sim::Pid pid(const sim::Event& event, std::string_view field) {
  return sim::Pid{static_cast<std::int32_t>(number(event, field))};
}

/// Limits of several promises.
inline constexpr const char* kAsleep = "a worker slept in the kernel";
inline constexpr const char* kLedAstray = "a name led to another machine";
inline constexpr const char* kSharedRank = "two agents were started with one rank";
inline constexpr const char* kNoStore = "no store was left";
inline constexpr const char* kStoodStill = "an agent stood still";
inline constexpr const char* kForgotten = "the store had lost what it held";
inline constexpr const char* kCutOff = "an agent was cut off from the store";

/// One process: a node and a number.
struct ProcessKey {
  sim::NodeId node{};
  sim::Pid pid{};
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};
inline ProcessKey process_of(const sim::Event& event) {
  return {event.node, event.pid};
}

/// A promise that keeps its violations and looks at the jobs through the shared view.
class Judge : public Invariant {
 public:
  /// Both texts must outlive the judge: literals.
  Judge(std::string_view id, std::string_view meaning)
      : id_(id), meaning_(meaning), view_(std::make_shared<JobView>()) {}
  [[nodiscard]] std::string_view id() const final { return id_; }
  [[nodiscard]] std::string_view meaning() const final { return meaning_; }
  [[nodiscard]] const std::vector<Violation>& violations() const final { return violations_; }
  void bind(std::shared_ptr<JobView> view) final { view_ = std::move(view); }
  /// Whoever drives judges without an InvariantSet may show them every event.
  void on_event(const sim::Event& event) final {
    view_->see(event);
    const auto wanted = interests();
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), event.type) != wanted.end()) {
      judge(event);
    }
  }
  void finish(const RunFacts& facts) override { static_cast<void>(facts); }

 protected:
  /// Looks at one event of a type it is interested in, which is in the view already.
  virtual void judge(const sim::Event& event) = 0;
  [[nodiscard]] const JobView& view() const { return *view_; }

  /// Keeps the first few violations: later ones are usually consequences.
  void broken(const sim::Event& event, std::string witness, std::string_view limit = {}) {
    broken(event.at, event.id, std::move(witness), limit);
  }
  void broken(sim::WorldTime at, sim::EventId event, std::string witness,
              std::string_view limit = {}) {
    if (enough()) return;
    violations_.push_back({std::string(id_), std::move(witness), at, event, std::string(limit)});
  }
  /// Why nobody could do what was due between `since` and `until`; empty: somebody could.
  [[nodiscard]] std::string_view held_back(sim::WorldTime since, sim::WorldTime until) const {
    if (view_->one_sleeps()) return kAsleep;
    if (view_->a_rank_is_shared()) return kSharedRank;
    return view_->one_stood_still(since, until) ? kStoodStill : "";
  }
  /// No further violation would be kept: text for one need not be built.
  [[nodiscard]] bool enough() const { return violations_.size() >= kKept; }

 private:
  static constexpr std::size_t kKept = 5;
  std::string_view id_;
  std::string_view meaning_;
  std::vector<Violation> violations_;
  std::shared_ptr<JobView> view_;
};

/// Something that must happen within `bound` of `since`.
struct Due {
  sim::WorldTime since{};
  sim::Duration bound{};
  AgentId about = kNoAgent;  ///< another agent that the witness names
  sim::EventId event{};      ///< what gave rise to it
};

/// When `due` is over. A fault that begins or ends meanwhile starts the span anew, for liveness is
/// judged from the last fault on; with `excused`, so does the whole time in which network, stores
/// or names were disturbed. nullopt: not before the disturbance ends.
std::optional<sim::WorldTime> deadline_of(const Due& due, const JobView& view, bool excused);

/// Deadlines by key; the earliest of a key counts until it is met.
template <class Key>
class Deadlines {
 public:
  void owe(const Key& key, const Due& due) { due_.try_emplace(key, due); }
  /// False: nothing was due.
  bool cancel(const Key& key) { return due_.erase(key) > 0; }
  void clear() { due_.clear(); }
  /// It has happened at `at`: hands out what was due, if that was too late.
  std::optional<Due> met(const Key& key, sim::WorldTime at, const JobView& view,
                         bool excused = false) {
    const auto found = due_.find(key);
    if (found == due_.end()) return std::nullopt;
    const Due due = found->second;
    due_.erase(found);
    return late(due, at, view, excused) ? std::optional(due) : std::nullopt;
  }
  /// Calls `tell(key, due)` for whatever is overdue when the run ends.
  template <class Tell>
  void overdue(sim::WorldTime end, const JobView& view, Tell tell, bool excused = false) const {
    for (const auto& [key, due] : due_) {
      if (late(due, end, view, excused)) tell(key, due);
    }
  }

 private:
  static bool late(const Due& due, sim::WorldTime at, const JobView& view, bool excused) {
    if (at <= due.since + due.bound) return false;
    const auto deadline = deadline_of(due, view, excused);
    return deadline && at > *deadline;
  }
  std::map<Key, Due> due_;
};

}  // namespace hooke::properties
