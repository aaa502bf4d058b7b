#pragma once
// Mistakes about how an agent ends, for tests of the oracle.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>

#include "model/launch/endings/endings.h"
#include "model/rendezvous/core/errors.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// Asks nothing of the others.
class HastyManner final : public ShutdownManner {
 public:
  bool shut_down(const ShutdownRequest& request) const override {
    return request.handler.shutdown();
  }
};

/// Waits twice, where the one in whose place it stands waits at all.
class SlowManner final : public ShutdownManner {
 public:
  explicit SlowManner(const ShutdownManner& instead_of) : instead_of_(instead_of) {}
  bool shut_down(const ShutdownRequest& request) const override {
    const bool waits = instead_of_.limit() > sim::Duration::zero() && !request.others_are_done;
    if (waits) wait_for_others(request.ports, request.handler, instead_of_.limit());
    return instead_of_.shut_down(request);
  }

 private:
  const ShutdownManner& instead_of_;
};

/// `Base`: Endings or HardenedEndings.
template <class Base>
class PlantedEndings final : public Base {
 public:
  using Base::Base;

  void catch_early(WorkerSpec& spec) const override {
    if (!has(Planted::launcher_deaf_until_workers)) Base::catch_early(spec);
  }
  Ending of_result(const std::optional<RunResult>& result) const override {
    Ending ending = Base::of_result(result);
    if (ending.job_failed && has(Planted::launcher_exit_code_lost)) ending.exit_code = 0;
    return ending;
  }
  Ending of_signal(const Agent& agent, const SignalException& error) const override {
    Ending ending = Base::of_signal(agent, error);
    const bool is_sigint = error.signal() == sim::Signal::int_;
    if (is_sigint && has(Planted::launcher_sigint_is_success)) ending.exit_code = 0;
    constexpr int kOfSigterm = 143;
    if (is_sigint && has(Planted::launcher_sigint_is_sigterm)) ending.exit_code = kOfSigterm;
    return ending;
  }
  [[nodiscard]] Ending::Parting parting_of_signal(const Agent& agent,
                                                  const SignalException& error) const override {
    using Parting = Ending::Parting;
    const Parting parting = Base::parting_of_signal(agent, error);
    const bool walks_off = parting == Parting::leaves && has(Planted::launcher_walks_off);
    return walks_off ? Parting::walks_off : parting;
  }
  void of_error(Ending& ending, Agent& agent, const std::exception& error) const override {
    Base::of_error(ending, agent, error);
    const bool was_closed = dynamic_cast<const RendezvousClosedError*>(&error) != nullptr;
    if (was_closed && has(Planted::launcher_closed_is_success)) ending = {"succeeded", 0, ""};
  }
  void part(RendezvousHandler& handler, const Ending& ending,
            const ShutdownManner& manner) const override {
    if (has(Planted::launcher_closes_at_once)) return Base::part(handler, ending, HastyManner());
    if (has(Planted::launcher_waits_twice_as_long))
      return Base::part(handler, ending, SlowManner(manner));
    Base::part(handler, ending, manner);
  }

 protected:
  [[nodiscard]] const ProcessFailure& cause_of(const ProcessFailures& failures) const override {
    if (has(Planted::launcher_last_failure_is_cause)) return failures.back();
    if (has(Planted::launcher_lowest_rank_is_cause)) {
      return *std::min_element(
          failures.begin(), failures.end(),
          [](const ProcessFailure& a, const ProcessFailure& b) { return a.rank < b.rank; });
    }
    return Base::cause_of(failures);
  }
  [[nodiscard]] std::int64_t rank_of(const ProcessFailure& cause) const override {
    return has(Planted::launcher_local_rank_reported) ? cause.local_rank : Base::rank_of(cause);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return this->spec_.planted.has(mistake); }
};

}  // namespace hooke::model
