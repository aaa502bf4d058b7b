// Every event moves the clock of its node, but only those that a person would tell are written:
// ShiViz wants each host's own count to grow by one from line to line, so it counts those alone.
#include "reports/exports/shiviz.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hooke::report {

ShivizLog::ShivizLog(std::ostream& out, std::vector<std::string> node_names)
    : out_(out), names_(std::move(node_names)) {
  for (std::string& name : names_) std::replace(name.begin(), name.end(), ' ', '_');
  names_.emplace_back("world");
  now_.assign(names_.size(), VectorClock(names_.size()));
  out_ << kShivizPattern << "\n\n";
}

void ShivizLog::on_event(const sim::Event& event) {
  if (clocks_.size() >= kEventsMax) return;
  const std::size_t node = std::min<std::size_t>(event.node.value, names_.size() - 1);
  VectorClock& clock = now_[node];
  const auto cause = clocks_.find(event.parent);
  if (cause != clocks_.end()) {
    std::transform(clock.begin(), clock.end(), cause->second.begin(), clock.begin(),
                   [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
  }
  std::string text = phrases_(event);
  if (!text.empty()) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    ++clock[node];
    nlohmann::ordered_json shown;
    for (std::size_t i = 0; i < clock.size(); ++i) {
      if (clock[i] > 0) shown[names_[i]] = clock[i];
    }
    out_ << names_[node] << ' '
         << shown.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n'
         << text << '\n';
  }
  clocks_.emplace(event.id, clock);
}

}  // namespace hooke::report
