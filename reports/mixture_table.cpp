#include "reports/mixture_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/text.h"

namespace hooke::report {
namespace {

using hunt::Mixture;
using hunt::Placement;
using hunt::Trial;

/// "a (store), b, c (worker.exit)"
std::string agents_of(const Mixture& mixture) {
  std::vector<std::string> names = mixture.nodes;
  for (std::string& name : names) {
    const auto roles = mixture.roles.find(name);
    if (roles != mixture.roles.end()) name += " (" + joined(roles->second, ", ") + ")";
  }
  return joined(names, ", ");
}

/// "0/3 2/3 1/1": of the placements of one hardened agent, of two, and so on, those in which the
/// invariant is kept.
std::string kept_by_number(const Mixture& mixture, const std::string& invariant) {
  std::map<std::size_t, std::pair<int, int>> kept;
  for (const Trial& trial : mixture.trials) {
    auto& [good, all] = kept[trial.hardened.size()];
    good += Mixture::keeps(trial, invariant) ? 1 : 0;
    ++all;
  }
  std::vector<std::string> out;
  for (const auto& [number, count] : kept) {
    if (number != 0) out.push_back(fmt::format("{}/{}", count.first, count.second));
  }
  return joined(out, " ");
}

std::string placements_text(const Mixture& mixture, const std::vector<Placement>& placements) {
  if (placements.empty()) return "not even all";
  if (placements.front().size() == mixture.nodes.size()) return "all";
  if (placements.front().size() == 1 && placements.size() == mixture.nodes.size()) return "any one";
  std::vector<std::string> out;
  for (const Placement& placement : placements) out.push_back(joined(placement, " and "));
  return joined(out, ", or ");
}

}  // namespace

std::string mixture_rows(const Mixture& mixture, const std::string& name) {
  std::string out;
  for (const std::string& invariant : mixture.invariants) {
    out += fmt::format("| `{}` | `{}` | {} | {}/{} | {} | {} |\n", name, invariant,
                       agents_of(mixture), mixture.trials.front().broken.at(invariant),
                       mixture.runs, kept_by_number(mixture, invariant),
                       placements_text(mixture, mixture.enough(invariant)));
  }
  return out;
}

std::string only_mixed_rows(const Mixture& mixture, const std::string& name) {
  std::string out;
  for (const std::string& invariant : mixture.only_mixed()) {
    out += fmt::format("| `{}` | `{}` | {} | {} |\n", name, invariant, agents_of(mixture),
                       kept_by_number(mixture, invariant));
  }
  return out;
}

std::string mixture_tables(const std::string& rows, const std::string& only_mixed) {
  std::string out =
      "| scenario | invariant | agents | broken with none | kept with 1, 2, … | enough |\n"
      "|---|---|---|---|---|---|\n" +
      rows;
  if (!only_mixed.empty()) {
    out +=
        "\n| scenario | invariant | agents | kept with 1, 2, … |\n"
        "|---|---|---|---|\n" +
        only_mixed;
  }
  return out;
}

}  // namespace hooke::report
