// The line is one SVG over all lanes, stretched to them; the dots are elements of HTML, which stay
// round, can be pointed at and say what they are.
#include "reports/page/cause_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/page/markup.h"

namespace hooke::report {
namespace {

struct Step {
  double x = 0;  ///< parts of a hundred
  double y = 0;
  std::string words;
};

std::vector<Step> steps_of(const Explanation& explanation, const LanePlaces& places) {
  const auto whole =
      static_cast<double>(std::max<std::int64_t>(1, places.end.time_since_epoch().count()));
  std::vector<Step> steps;
  for (const hunt::CauseLine& line : explanation.story.lines) {
    const auto lane = places.lane.find(line.node);
    if (lane == places.lane.end() || lane->second >= places.lanes) continue;
    steps.push_back(
        {static_cast<double>(line.at.time_since_epoch().count()) * 100 / whole,
         (static_cast<double>(lane->second) + .5) * 100 / static_cast<double>(places.lanes),
         fmt::format("{}  {}: {}", at_text(line.at), line.node, cause_text(line))});
  }
  return steps;
}

/// Marks `element` as a part of the chain of that finding.
void belongs(pugi::xml_node element, std::size_t finding, bool shown) {
  element.append_attribute("data-chain") = std::to_string(finding).c_str();
  if (!shown) element.append_attribute("hidden") = "hidden";
}

}  // namespace

const Explanation* explanation_of(const Finding& finding,
                                  const std::vector<Explanation>& explanations) {
  const auto found =
      std::find_if(explanations.begin(), explanations.end(),
                   [&](const Explanation& each) { return each.invariant == finding.invariant; });
  return found == explanations.end() ? nullptr : &*found;
}

void add_cause_chains(pugi::xml_node lanes, const std::vector<Finding>& findings,
                      const std::vector<Explanation>& explanations, const LanePlaces& places) {
  pugi::xml_node over;
  bool shown = true;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Explanation* const explanation = explanation_of(findings[i], explanations);
    if (explanation == nullptr) continue;
    const std::vector<Step> steps = steps_of(*explanation, places);
    if (steps.empty()) continue;
    if (!over) over = add_class(lanes, "div", "chains");
    std::string points;
    for (const Step& step : steps) points += fmt::format("{:.2f},{:.2f} ", step.x, step.y);
    pugi::xml_node drawing = add(over, "svg",
                                 {{"viewBox", "0 0 100 100"},
                                  {"preserveAspectRatio", "none"},
                                  {"role", "img"},
                                  {"aria-label", fmt::format("The causes of finding {}", i + 1)}});
    belongs(drawing, i + 1, shown);
    add(drawing, "polyline", {{"points", points}});
    for (const Step& step : steps) {
      belongs(add(over, "a",
                  {{"class", "step"},
                   {"href", fmt::format("#finding-{}", i + 1)},
                   {"title", step.words},
                   {"style", fmt::format("left:{:.2f}%;top:{:.2f}%", step.x, step.y)}}),
              i + 1, shown);
    }
    shown = false;
  }
}

}  // namespace hooke::report
