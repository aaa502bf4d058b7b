// The built-in policies. Each is a function of what it is told.
#include "model/agent/restart_policy.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pauses that grow by a factor from restart to restart, up to a longest.
struct Backoff {
  sim::Duration first{};
  std::int64_t factor = 2;
  sim::Duration longest{};

  [[nodiscard]] sim::Duration before_restart(std::int64_t restarts) const {
    HOOKE_CHECK(first >= 0s && longest >= 0s, "the first and the longest pause are not negative");
    HOOKE_CHECK(restarts >= 0 && factor >= 1,
                "the factor is at least 1, and the number of restarts is not negative");
    sim::Duration pause = std::min(first, longest);
    if (pause == 0s || factor == 1) return pause;
    for (std::int64_t i = 0; i < restarts && pause < longest; ++i) {
      pause = pause > longest / factor ? longest : pause * factor;
    }
    HOOKE_CHECK(first <= pause || pause == longest, "a pause is between the first and the longest");
    return pause;
  }
};

constexpr const char* kFirst = "first";
constexpr const char* kFactor = "factor";
constexpr const char* kLongest = "longest";
constexpr const char* kRejoin = "rejoin";

Backoff backoff_of(const PluginChoice& choice, sim::Duration usual_first) {
  return {choice.span(kFirst, usual_first), choice.integer(kFactor, 1, 1000, 2),
          choice.span(kLongest, 1min)};
}

bool truth_of(const PluginChoice& choice, const std::string& key) {
  const std::string given = choice.text(key, "no");
  if (given != "yes" && given != "no") choice.refuse(key, "yes or no");
  return given == "yes";
}

/// The whole group while the budget lasts.
class Torch : public RestartPolicy {
 public:
  [[nodiscard]] RestartDecision decide(const FailedWorkers& failed) const override {
    if (failed.remaining <= 0) return {};
    return {RestartScope::group, 0s, ""};
  }
};

class BackingOff : public RestartPolicy {
 public:
  BackingOff(Backoff backoff, RestartScope scope) : backoff_(backoff), scope_(scope) {
    HOOKE_CHECK(scope_ != RestartScope::none, "a pause is followed by a restart, not by the end");
  }
  [[nodiscard]] RestartDecision decide(const FailedWorkers& failed) const override {
    if (failed.remaining <= 0) return {};
    return {scope_, backoff_.before_restart(failed.restarts), ""};
  }

 private:
  Backoff backoff_;
  RestartScope scope_;
};

class FailedOnly final : public BackingOff {
 public:
  FailedOnly(Backoff backoff, bool rejoins)
      : BackingOff(backoff, RestartScope::failed_workers), rejoins_(rejoins) {}
  [[nodiscard]] bool restarts_single_workers() const override { return true; }
  [[nodiscard]] bool rejoins() const override { return rejoins_; }

 private:
  bool rejoins_;
};

/// A worker that fails again and again does not use up the attempts of the others.
class PerWorker final : public RestartPolicy {
 public:
  explicit PerWorker(std::int64_t attempts) : attempts_(attempts) {
    HOOKE_CHECK(attempts_ >= 1, "the number of attempts is at least 1");
  }
  [[nodiscard]] RestartDecision decide(const FailedWorkers& failed) const override {
    if (failed.remaining <= 0) return {};
    for (const auto& [local_rank, times] : failed.attempts_failed) {
      HOOKE_CHECK(local_rank >= 0 && times > 0,
                  "a counted failure has a local rank, and its count is positive");
      if (times < attempts_) continue;
      return {RestartScope::none, 0s,
              "worker " + std::to_string(local_rank) + " has failed in " + std::to_string(times) +
                  " of " + std::to_string(attempts_) + " attempts"};
    }
    return {RestartScope::group, 0s, ""};
  }

 private:
  std::int64_t attempts_;
};

class Rerun final : public Torch {
 public:
  explicit Rerun(std::int64_t runs) : runs_(runs) {
    HOOKE_CHECK(runs_ >= 1, "the number of runs is at least 1");
  }
  [[nodiscard]] bool runs_job_again(std::int64_t runs) const override {
    HOOKE_CHECK(runs >= 1, "runs of a job are numbered from 1");
    return runs < runs_;
  }

 private:
  std::int64_t runs_;
};

}  // namespace

RestartPolicyRegistry RestartPolicyRegistry::with_builtins() {
  constexpr std::int64_t kMany = 1'000'000'000;
  RestartPolicyRegistry registry;
  registry.add("torch", [](const PluginChoice& choice) {
    choice.allow({});
    return std::make_unique<Torch>();
  });
  registry.add("backoff", [](const PluginChoice& choice) {
    choice.allow({kFirst, kFactor, kLongest});
    return std::make_unique<BackingOff>(backoff_of(choice, 1s), RestartScope::group);
  });
  registry.add("failed-only", [](const PluginChoice& choice) {
    choice.allow({kFirst, kFactor, kLongest, kRejoin});
    return std::make_unique<FailedOnly>(backoff_of(choice, 0s), truth_of(choice, kRejoin));
  });
  registry.add("per-worker", [](const PluginChoice& choice) {
    choice.allow({"attempts"});
    return std::make_unique<PerWorker>(choice.integer("attempts", 1, kMany, 3));
  });
  registry.add("rerun", [](const PluginChoice& choice) {
    choice.allow({"runs"});
    return std::make_unique<Rerun>(choice.integer("runs", 1, kMany, 2));
  });
  return registry;
}

}  // namespace hooke::model
