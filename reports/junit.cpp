// JUnit XML by pugixml.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "reports/junit_markup.h"
#include "reports/machine.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

enum class Kind { passed, failed, in_error, skipped };

Kind kind_of(const Result& result) {
  if (!result.supported()) return Kind::skipped;
  if (!result.conclusive() || !result.run.harness_failure.empty()) return Kind::in_error;
  return result.good() ? Kind::passed : Kind::failed;
}

/// Why a result is none that passed.
struct Reason {
  std::string type;     ///< "safety.bounds", "expect.rounds.min"
  std::string message;  ///< one line
};

/// An invariant counts for more than an expectation that it may have broken.
Reason reason_of(const Result& result) {
  const scenario::RunReport& run = result.run;
  if (!result.conclusive()) return {"inconclusive", "inconclusive: " + run.inconclusive};
  if (!run.harness_failure.empty()) return {"harness", run.harness_failure};
  if (result.must_fail) return {"canary", "a canary did not fail"};
  if (run.trace_difference) {
    return {"determinism", fmt::format("two runs of seed {} differ at event {}", run.seed,
                                       run.trace_difference->event_number)};
  }
  for (const scenario::Unmet& unmet : run.unmet) {
    if (unmet.violation) return {unmet.expectation, unmet.expectation + ": " + unmet.reason};
  }
  if (run.unmet.empty()) return {"failed", "failed"};
  return {run.unmet.front().expectation,
          run.unmet.front().expectation + ": " + run.unmet.front().reason};
}

/// The invariants that were broken and should not have been, each once.
std::string violated(const scenario::RunReport& run) {
  std::vector<std::string> ids;
  for (const scenario::Unmet& unmet : run.unmet) {
    const bool known = std::find(ids.begin(), ids.end(), unmet.expectation) != ids.end();
    if (unmet.violation && !known) ids.push_back(unmet.expectation);
  }
  return joined(ids);
}

void append_properties(pugi::xml_node suite, const Result& result) {
  pugi::xml_node properties = suite.append_child("properties");
  const auto add = [&](const std::string& name, const std::string& value) {
    add_property(properties, name, value);
  };
  const scenario::RunReport& run = result.run;
  add("world", result.world);
  add("variant", result.variant);
  if (result.supported()) {
    add("seed", std::to_string(run.seed));
    add("trace_hash", run.hash);
    add("virtual_time_s", seconds(run.world_time));
    add("rounds", std::to_string(run.rounds));
    add("events", std::to_string(run.events));
    add("violated", violated(run));
  }
  for (const TimelineNote& note : timeline_notes(run)) add(note.entry, note.text);
  add("logs", run.logs);
}

void append_reason(pugi::xml_node test, const char* element, const Result& result) {
  const Reason reason = reason_of(result);
  const auto line = result.lines.find(reason.type);
  std::string text = explanation(result, Style{}, true);
  if (line != result.lines.end()) {
    set(test, "line", std::to_string(line->second));
    text = fmt::format("{}:{}: {}\n", result.file, line->second, reason.type) + text;
  }
  pugi::xml_node node = test.append_child(element);
  set(node, "type", reason.type);
  set(node, "message", reason.message);
  node.text() = junit_text(text).c_str();
}

void append_suite(pugi::xml_node suites, const Result& result) {
  const Kind kind = kind_of(result);
  const std::string name =
      result.run.name + (result.world == "sim" ? "" : " in the world " + result.world);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(result.run.wall_time).count();
  const std::string time = fmt::format("{}.{:03}", ms / 1000, ms % 1000);
  pugi::xml_node suite = suites.append_child("testsuite");
  set(suite, "name", name);
  set(suite, "tests", "1");
  set(suite, "failures", kind == Kind::failed ? "1" : "0");
  set(suite, "errors", kind == Kind::in_error ? "1" : "0");
  set(suite, "skipped", kind == Kind::skipped ? "1" : "0");
  set(suite, "time", time);
  set(suite, "file", result.file);
  append_properties(suite, result);
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "name", name);
  set(test, "classname", result.file);
  set(test, "time", time);
  set(test, "file", result.file);
  if (kind == Kind::skipped) set(test.append_child("skipped"), "message", result.run.unsupported);
  if (kind == Kind::failed) append_reason(test, "failure", result);
  if (kind == Kind::in_error) append_reason(test, "error", result);
}

}  // namespace

std::string to_junit(const std::vector<Result>& results) {
  const auto number_of = [&](Kind kind) {
    return std::to_string(
        std::count_if(results.begin(), results.end(),
                      [kind](const Result& result) { return kind_of(result) == kind; }));
  };
  pugi::xml_document document;
  pugi::xml_node suites = document.append_child("testsuites");
  set(suites, "name", "hooke scenarios");
  set(suites, "tests", std::to_string(results.size()));
  set(suites, "failures", number_of(Kind::failed));
  set(suites, "errors", number_of(Kind::in_error));
  for (const Result& result : results) append_suite(suites, result);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace hooke::report
