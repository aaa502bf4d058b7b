// A rule per invariant and per kind of expectation that fell; a result names its rule and its line.
#include "reports/exports/sarif.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace hooke::report {
namespace {

using nlohmann::ordered_json;

struct Fall {
  std::string rule;
  std::string message;
};

/// What is wrong with a result, each rule once.
std::vector<Fall> falls_of(const Result& result) {
  const scenario::RunReport& run = result.run;
  std::vector<Fall> out;
  if (!result.supported() || result.good()) return out;
  if (!result.conclusive()) return {{"inconclusive", run.inconclusive}};
  if (!run.harness_failure.empty()) return {{"harness", run.harness_failure}};
  if (result.must_fail) return {{"canary", "a canary did not fail"}};
  if (run.trace_difference) return {{"determinism", "two runs of one seed differ"}};
  std::set<std::string> told;
  for (const scenario::Unmet& unmet : run.unmet) {
    if (told.insert(unmet.expectation).second) out.push_back({unmet.expectation, unmet.reason});
  }
  return out;
}

/// A path as a relative URI reference.
std::string uri_of(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return out;
}

ordered_json location_of(const Result& result, const std::string& rule) {
  const auto line = result.lines.find(rule);
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", uri_of(result.file)}}},
            {"region", {{"startLine", line == result.lines.end() ? 1 : line->second}}}}}};
}

}  // namespace

std::string to_sarif(const std::vector<Result>& results,
                     const properties::InvariantRegistry& invariants, const std::string& version) {
  std::map<std::string, std::string> meanings;
  for (const auto& invariant : invariants.make_all()) {
    meanings[std::string(invariant->id())] = invariant->meaning();
  }
  ordered_json rules = ordered_json::array(), found = ordered_json::array();
  std::map<std::string, std::size_t> numbers;
  for (const Result& result : results) {
    for (const Fall& fall : falls_of(result)) {
      const auto [number, is_new] = numbers.emplace(fall.rule, rules.size());
      if (is_new) {
        const auto meaning = meanings.find(fall.rule);
        rules.push_back(
            {{"id", fall.rule},
             {"shortDescription",
              {{"text", meaning == meanings.end() ? "What the scenario expects: " + fall.rule
                                                  : meaning->second}}}});
      }
      found.push_back({{"ruleId", fall.rule},
                       {"ruleIndex", number->second},
                       {"level", "error"},
                       {"message", {{"text", result.run.name + ": " + fall.message}}},
                       {"locations", {location_of(result, fall.rule)}},
                       {"properties",
                        {{"scenario", result.run.name},
                         {"world", result.world},
                         {"seed", result.run.seed},
                         {"trace_hash", result.run.hash}}}});
    }
  }
  const ordered_json driver{{"name", "hooke"}, {"version", version}, {"rules", rules}};
  const ordered_json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                         {"version", "2.1.0"},
                         {"runs", {{{"tool", {{"driver", driver}}}, {"results", found}}}}};
  return log.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace hooke::report
