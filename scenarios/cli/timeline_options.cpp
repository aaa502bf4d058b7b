#include "scenarios/cli/timeline_options.h"

#include <algorithm>

#include "scenarios/format/duration.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/node_names.h"

namespace hooke::cli {
namespace {

CLI::Option* add_moment(CLI::App& command, const std::string& flag,
                        std::optional<sim::WorldTime>& moment, const std::string& meaning) {
  return command
      .add_option_function<std::string>(
          flag,
          [flag, &moment](const std::string& text) {
            const auto span = scenario::parse_duration(text);
            if (!span || *span < sim::Duration::zero() || *span > scenario::kSpanMax) {
              throw CLI::ValidationError(
                  flag, "expected a time with a unit such as \"90s\", got " + text);
            }
            moment = sim::WorldTime(*span);
          },
          meaning)
      ->type_name("TIME");
}

}  // namespace

void add_timeline(CLI::App& command, TimelineOptions& options, const std::string& what) {
  CLI::Option* const timeline = command.add_flag("--timeline", options.wanted, what);
  for (CLI::Option* const option :
       {command
            .add_option("--node", options.nodes,
                        "In the timeline, only these nodes and what happens to the world: a, b..d")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->type_name("NODE"),
        add_moment(command, "--from", options.from, "In the timeline, only from this time on"),
        add_moment(command, "--to", options.to, "In the timeline, only up to this time"),
        command.add_flag("--wide", options.wide, "In the timeline, cut no line")}) {
    option->needs(timeline);
  }
}

report::Timeline timeline_of(std::ostream& out, const std::vector<std::string>& node_names,
                             const report::Style& style, const TimelineOptions& options) {
  report::TimelineFilter filter{std::vector<bool>(node_names.size(), options.nodes.empty()),
                                options.from, options.to};
  for (const std::string& each : options.nodes) {
    const std::vector<std::string> range = scenario::expand_range(each);
    for (const std::string& name : range.empty() ? std::vector{each} : range) {
      const auto found = std::find(node_names.begin(), node_names.end(), name);
      if (found == node_names.end()) {
        const auto near = scenario::nearest(name, node_names);
        throw CLI::ValidationError(
            "--node", "no node " + name + (near ? "; did you mean " + *near + "?" : ""));
      }
      filter.nodes[static_cast<std::size_t>(found - node_names.begin())] = true;
    }
  }
  return {out, node_names, options.wide ? report::Timeline::kUncut : style.width,
          std::move(filter)};
}

}  // namespace hooke::cli
