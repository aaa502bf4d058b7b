// One function per kind of expectation.
#include "scenarios/outcome/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

std::string seconds(Duration span) {
  return fmt::format("{:.3f} s", static_cast<double>(span.count()) / 1e9);
}

const AgentResult* latest(const RunReport& report, const std::string& node) {
  const auto found = std::find_if(report.agents.rbegin(), report.agents.rend(),
                                  [&](const AgentResult& agent) { return agent.node == node; });
  return found == report.agents.rend() ? nullptr : &*found;
}

std::string how(const AgentResult& agent) {
  return agent.outcome + (agent.detail.empty() ? "" : " (" + agent.detail + ")");
}

void judge_agents(const Expectation& expect, RunReport& report) {
  for (const auto& [node, outcome] : expect.outcome) {
    const AgentResult* const agent = latest(report, node);
    if (agent == nullptr) {
      report.unmet.push_back({"expect.outcome." + node, "no agent was ever started there"});
    } else if (agent->outcome != outcome) {
      report.unmet.push_back(
          {"expect.outcome." + node,
           fmt::format("expected {}, but it ended as {}", outcome, how(*agent))});
    }
  }
  for (const auto& [node, code] : expect.exit_code) {
    const AgentResult* const agent = latest(report, node);
    if (agent != nullptr && agent->exit_code && *agent->exit_code == code) continue;
    const std::string got = agent == nullptr   ? "no agent was ever started there"
                            : agent->exit_code ? fmt::format("it was {}", *agent->exit_code)
                                               : "there is none, the agent ended as " + how(*agent);
    report.unmet.push_back(
        {"expect.exit_code." + node, fmt::format("expected {}, but {}", code, got)});
  }
}

/// How many nodes ended in each way.
void judge_counts(const Expectation& expect, RunReport& report) {
  std::map<std::string, std::string> outcomes;  // of each node's latest agent
  for (const AgentResult& agent : report.agents) outcomes[agent.node] = agent.outcome;
  for (const auto& [outcome, range] : expect.count) {
    const auto got =
        std::count_if(outcomes.begin(), outcomes.end(),
                      [&how = outcome](const auto& entry) { return entry.second == how; });
    const bool few = range.min && got < *range.min;
    if (!few && !(range.max && got > *range.max)) continue;
    report.unmet.push_back(
        {"expect.count." + outcome,
         fmt::format("expected at {} {} nodes, {} ended so", few ? "least" : "most",
                     few ? *range.min : *range.max, got)});
  }
}

void judge_course(const Expectation& expect, bool all_over, RunReport& report) {
  if (expect.rounds_min && report.rounds < *expect.rounds_min) {
    report.unmet.push_back({"expect.rounds.min", fmt::format("expected at least {}, completed {}",
                                                             *expect.rounds_min, report.rounds)});
  }
  if (expect.rounds_max && report.rounds > *expect.rounds_max) {
    report.unmet.push_back(
        {"expect.rounds.max",
         fmt::format("expected at most {}, completed {}", *expect.rounds_max, report.rounds),
         true});
  }
  if (expect.within) {
    sim::WorldTime last{};
    for (const AgentResult& agent : report.agents) last = std::max(last, agent.ended);
    if (!all_over) {
      report.unmet.push_back({"expect.within",
                              fmt::format("an agent still runs at {}", seconds(report.world_time)),
                              report.world_time > *expect.within});
    } else if (last.time_since_epoch() > *expect.within) {
      report.unmet.push_back(
          {"expect.within",
           fmt::format("expected all agents to be over by {}, the last ended at {}",
                       seconds(*expect.within), seconds(last.time_since_epoch())),
           true});
    }
  }
  for (const std::string& mark : expect.coverage) {
    if (!report.coverage.contains(mark)) {
      report.unmet.push_back({"expect.coverage", "\"" + mark + "\" was never reached"});
    }
  }
  for (std::size_t i = 0; i < expect.events.size(); ++i) {
    const Trigger& event = expect.events[i];
    if (report.met.at(i) >= event.passage) continue;
    const bool near =
        report.met.at(i) == 0 && i < report.nearest.size() && !report.nearest[i].empty();
    report.unmet.push_back(
        {fmt::format("expect.events.{}", i),
         fmt::format("{} was met {} times, expected at least {}{}", *event.event, report.met.at(i),
                     event.passage, near ? "; the nearest came " + report.nearest[i] : "")});
  }
  for (std::size_t i = 0; i < expect.events.size(); ++i) {
    const Trigger& event = expect.events[i];
    if (!event.at_most || report.met.at(i) <= *event.at_most) continue;
    report.unmet.push_back({fmt::format("expect.events.{}", i),
                            fmt::format("{} was met {} times, expected at most {}", *event.event,
                                        report.met.at(i), *event.at_most),
                            true});
  }
  for (std::size_t i = 0; i < expect.never.size(); ++i) {
    const std::int64_t met = report.met.at(expect.events.size() + i);
    if (met == 0) continue;
    report.unmet.push_back(
        {fmt::format("expect.never.{}", i),
         fmt::format("{} was met {} times, expected never", *expect.never[i].event, met), true});
  }
}

/// "3", or "2.500 s" where the field is a span.
std::string amount(const ExpectedSum& sum, std::int64_t value) {
  return sum.is_a_span ? seconds(Duration(value)) : std::to_string(value);
}

/// "expected at least 3".
std::string wanted(const ExpectedSum& sum, bool more) {
  const bool exactly = sum.range.min == sum.range.max;
  return fmt::format("expected {} {}",
                     exactly ? "exactly"
                     : more  ? "at least"
                             : "at most",
                     amount(sum, more ? *sum.range.min : *sum.range.max));
}

void judge_sums(const Expectation& expect, RunReport& report) {
  for (std::size_t i = 0; i < expect.sums.size(); ++i) {
    const ExpectedSum& sum = expect.sums[i];
    const SumSeen& seen = report.sums.at(i);
    const std::string name = fmt::format("expect.sums.{}", i);
    const std::string what = sum.field + " of " + *sum.events.event;
    if (seen.is_text) {
      report.unmet.push_back({name, what + " is a text, which adds up to nothing"});
      continue;
    }
    const bool few = sum.range.min && seen.total < *sum.range.min;
    if (!few && !(sum.range.max && seen.total > *sum.range.max)) continue;
    std::string near;
    if (seen.events > 0) {
      near = fmt::format("; the largest of {} is {}, {}", seen.events,
                         amount(sum, seen.largest_value), seen.largest);
    } else if (!seen.nearest.empty()) {
      near = "; none was met, the nearest came " + seen.nearest;
    } else {
      near = "; none was met";
    }
    report.unmet.push_back({name, fmt::format("{} adds up to {}, {}{}", what,
                                              amount(sum, seen.total), wanted(sum, few), near)});
  }
}

bool any_matches(const std::vector<std::string>& patterns, const std::string& id) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return properties::matches(pattern, id); });
}

/// A violation is allowed when it is asked for, or when `holds` says what must hold and this is not
/// part of it. Without `holds` one that no agent could have avoided is allowed as well.
void judge_invariants(const Expectation& expect, RunReport& report) {
  for (const std::string& wanted : expect.violates) {
    const bool broken = std::any_of(report.violations.begin(), report.violations.end(),
                                    [&](const properties::Violation& violation) {
                                      return properties::matches(wanted, violation.invariant);
                                    });
    if (!broken) report.unmet.push_back({"expect.violates", "\"" + wanted + "\" was not violated"});
  }
  for (std::size_t i = 0; i < report.violations.size(); ++i) {
    const properties::Violation& violation = report.violations[i];
    const bool expected = any_matches(expect.violates, violation.invariant);
    const bool outside = expect.holds.empty() ? !violation.limit.empty()
                                              : !any_matches(expect.holds, violation.invariant);
    if (expected || outside) continue;
    report.unmet.push_back({violation.invariant, violation.witness, true, i});
  }
}

}  // namespace

std::string limit_reached(const RunReport& report) {
  const std::string when = fmt::format(" after {} steps, at {} of virtual time", report.steps,
                                       seconds(report.world_time));
  if (report.rounds_exhausted) return "the limit of rounds was reached" + when;
  switch (report.end) {
    case kernel::RunEnd::stopped:
    case kernel::RunEnd::idle:
    case kernel::RunEnd::world_time_exhausted:
    case kernel::RunEnd::failed: return {};
    case kernel::RunEnd::steps_exhausted: return "the limit of steps was reached" + when;
    case kernel::RunEnd::wall_time_exhausted:
      return "the limit of real time was reached" + when + "; --real-time-limit sets it";
    case kernel::RunEnd::fibers_exhausted: return "the limit of living fibers was reached" + when;
    case kernel::RunEnd::memory_exhausted: return "the limit of memory was reached" + when;
  }
  sim::check_failed("end", __FILE__, __LINE__, "every way to end is handled");
}

void judge(const Scenario& scenario, bool all_over, RunReport& report) {
  const Expectation& expect = scenario.expect;
  judge_agents(expect, report);
  judge_counts(expect, report);
  judge_course(expect, all_over, report);
  judge_sums(expect, report);
  judge_invariants(expect, report);
  if (const std::string limit = limit_reached(report); !limit.empty()) {
    std::erase_if(report.unmet, [](const Unmet& unmet) { return !unmet.decided; });
    if (report.unmet.empty()) {
      report.inconclusive = limit;
    } else {
      report.unmet.push_back({"limits", limit, true});
    }
  } else if (report.unmet.empty() && report.check_cut && !report.trace_difference) {
    report.inconclusive =
        "the limit of real time or memory was reached in the second run: whether both are the same "
        "was not seen";
  }
  if (report.trace_difference && report.harness_failure.empty()) {
    report.harness_failure =
        fmt::format("two runs of seed {} are not the same run: they differ at event {}",
                    report.seed, report.trace_difference->event_number);
  }
  if (!report.harness_failure.empty()) report.inconclusive.clear();
  report.passed =
      report.unmet.empty() && report.harness_failure.empty() && report.inconclusive.empty();
}

}  // namespace hooke::scenario
