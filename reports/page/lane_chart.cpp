// Bars are elements of HTML placed by percentages, so that text keeps its size on any screen.
#include "reports/page/lane_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/page/cause_chain.h"
#include "reports/page/markup.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

struct PhaseName {
  const char* style;
  const char* title;
};
constexpr std::array<PhaseName, kPhases> kPhaseNames{{
    {"rendezvous", "rendezvous"},
    {"training", "training"},
    {"peer-lost", "trains on although a worker of its round is dead"},
    {"restarting", "stops its workers to restart"},
    {"leaving", "exit barrier and end"},
}};

const PhaseName& name_of(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

class Axis {
 public:
  explicit Axis(sim::WorldTime end)
      : whole_(std::max<std::int64_t>(1, end.time_since_epoch().count())) {}
  /// Where a moment is, in thousandths of the whole.
  [[nodiscard]] std::int64_t mille(sim::WorldTime at) const {
    return static_cast<std::int64_t>(static_cast<double>(at.time_since_epoch().count()) * 1000.0 /
                                         static_cast<double>(whole_) +
                                     0.5);
  }
  [[nodiscard]] std::string left(sim::WorldTime at) const {
    return fmt::format("left:{}.{}%", mille(at) / 10, mille(at) % 10);
  }
  [[nodiscard]] std::string span(sim::WorldTime from, sim::WorldTime to) const {
    const std::int64_t width = std::max<std::int64_t>(1, mille(to) - mille(from));
    return fmt::format("{};width:{}.{}%", left(from), width / 10, width % 10);
  }
  /// Round moments, about eight of them.
  [[nodiscard]] std::vector<sim::WorldTime> ticks() const {
    std::int64_t step = 1'000'000;
    while (step * 8 < whole_) {
      const std::int64_t lead = leading_digit(step);
      // 1, 2, 5, 10 … of a second; of more than a minute 60, 120, 300, 600 … seconds.
      step = lead == 2 ? step / 2 * 5 : step * 2;
      if (step == 100'000'000'000) step = 60'000'000'000;
    }
    std::vector<sim::WorldTime> ticks;
    for (std::int64_t at = 0; at <= whole_; at += step) {
      ticks.emplace_back(sim::Duration(at));
    }
    return ticks;
  }

 private:
  static std::int64_t leading_digit(std::int64_t number) {
    while (number >= 10) number /= 10;
    return number;
  }
  std::int64_t whole_;
};

std::string clock_text(sim::WorldTime at) {
  return short_time(at.time_since_epoch());
}

/// A mark on the axis: a fault, or the first violation of a finding.
struct Mark {
  sim::WorldTime at{};
  const char* style;
  std::string label, title, href;
};

/// A promise that nothing kept is broken at its deadline.
const char* how_broken(const Finding& finding) {
  return finding.first.event == sim::kNoEvent ? "not kept by its deadline," : "violated at";
}

std::vector<Mark> marks_of(const RunRecord& record, const std::vector<Finding>& findings) {
  std::vector<Mark> marks;
  std::size_t number = 0;
  for (const FaultMark& fault : record.faults()) {
    marks.push_back(
        {fault.at, "fault",
         fmt::format("{}", ++number <= 26 ? std::string(1, static_cast<char>('A' + number - 1))
                                          : std::to_string(number)),
         fault.what + " at " + clock_text(fault.at), "#faults"});
  }
  number = 0;
  for (const Finding& finding : findings) {
    ++number;
    marks.push_back({finding.first.at,
                     finding.weight == Weight::unexpected ? "violation" : "violation mild",
                     std::to_string(number),
                     fmt::format("{} {} {}", finding.invariant, how_broken(finding),
                                 clock_text(finding.first.at)),
                     fmt::format("#finding-{}", number)});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.at < b.at; });
  return marks;
}

/// Marks above the lanes, in as many rows as keep their labels apart.
void add_marks(pugi::xml_node chart, const std::vector<Mark>& marks, const Axis& axis) {
  constexpr std::int64_t kApart = 22;  // thousandths that a label takes on a narrow screen
  constexpr std::size_t kRowsMost = 6;
  pugi::xml_node strip = add_class(chart, "div", "marks");
  std::vector<std::int64_t> used;  // by row: up to where
  for (const Mark& mark : marks) {
    const std::int64_t place = axis.mille(mark.at);
    std::size_t row = 0;
    while (row < used.size() && used[row] > place) ++row;
    if (row >= kRowsMost) continue;  // it is in the lists below
    if (row == used.size()) used.push_back(0);
    used[row] = place + kApart;
    add(strip, "a",
        {{"class", std::string("mark ") + mark.style},
         {"href", mark.href},
         {"title", mark.title},
         {"style", fmt::format("{};top:{}em", axis.left(mark.at), static_cast<double>(row) * 1.5)}},
        mark.label);
  }
  strip.append_attribute("style") =
      fmt::format("height:{}em",
                  static_cast<double>(std::max<std::size_t>(1, used.size())) * 1.5 + .2)
          .c_str();
}

/// "0", "500ms", "30s", "4m", "1h30m": a round moment.
std::string tick_text(sim::WorldTime at) {
  const std::int64_t ms = at.time_since_epoch().count() / 1'000'000;
  if (ms == 0) return "0";
  if (ms % 1000 != 0)
    return ms < 1000 ? fmt::format("{}ms", ms)
                     : fmt::format("{:.3g}s", static_cast<double>(ms) / 1000);
  const std::int64_t seconds_left = ms / 1000 % 60, minutes = ms / 60'000 % 60,
                     hours = ms / 3'600'000;
  std::string text = hours == 0 ? "" : fmt::format("{}h", hours);
  if (minutes != 0) text += fmt::format("{}m", minutes);
  if (seconds_left != 0) text += fmt::format("{}s", seconds_left);
  return text;
}

void add_axis(pugi::xml_node chart, const Axis& axis) {
  pugi::xml_node row = add_class(chart, "div", "axis");
  for (const sim::WorldTime tick : axis.ticks()) {
    if (axis.mille(tick) > 970) break;  // no room for its words
    add(row, "span", {{"class", "tick"}, {"style", axis.left(tick)}}, tick_text(tick));
  }
}

/// Those that the reader may ask about: the others waited for this node, or it waited for more than
/// a hundredth of the run. Most joins are over at once and would hide them.
std::vector<Deadline> shown_deadlines(const Lane& lane, const Axis& axis, sim::WorldTime end) {
  constexpr std::int64_t kLong = 10;  // thousandths of the run
  constexpr std::size_t kShown = 12;  // more on one lane cannot be told apart
  std::vector<Deadline> shown;
  for (const Deadline& each : lane.deadlines) {
    const sim::WorldTime over = std::min(each.over.value_or(end), end);
    const bool is_long = axis.mille(over) - axis.mille(each.from) >= kLong;
    if (shown.size() < kShown && (each.of_silence || is_long)) shown.push_back(each);
  }
  return shown;
}

struct LaneGroup {
  std::vector<std::string> nodes;
  const Lane* lane = nullptr;
  std::vector<Deadline> deadlines;
};

/// Lanes that look the same together, in the order of their first nodes.
std::vector<LaneGroup> folded(const std::vector<Lane>& lanes, const Axis& axis,
                              sim::WorldTime end) {
  std::vector<LaneGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const Lane& lane : lanes) {
    std::string look;
    for (const Segment& segment : lane.segments) {
      look += fmt::format("{}:{}-{};", static_cast<int>(segment.phase), axis.mille(segment.from),
                          axis.mille(segment.to));
    }
    const std::vector<Deadline> deadlines = shown_deadlines(lane, axis, end);
    for (const Deadline& each : deadlines) {
      look += fmt::format("{}:{}-{};", each.what, axis.mille(each.from), axis.mille(each.at));
    }
    if (lanes.size() <= kLanesUnfolded) look += lane.node;
    const auto [place, is_new] = known.emplace(look, groups.size());
    if (is_new) groups.push_back({{}, &lane, deadlines});
    groups[place->second].nodes.push_back(lane.node);
  }
  if (groups.size() > kLanesShown) {
    std::stable_sort(groups.begin(), groups.end(), [](const LaneGroup& a, const LaneGroup& b) {
      return a.nodes.size() > b.nodes.size();
    });
  }
  return groups;
}

/// A line for as long as it was waited for, and a stroke where the deadline is, if the run came so
/// far.
void add_deadline(pugi::xml_node track, const Deadline& deadline, const std::string& label,
                  const Axis& axis, sim::WorldTime end) {
  const sim::WorldTime over = std::min(deadline.over.value_or(end), end);
  const bool is_reached = deadline.at <= end;
  const sim::WorldTime to = is_reached ? deadline.at : over;
  const std::int64_t whole = std::max<std::int64_t>(1, axis.mille(to) - axis.mille(deadline.from));
  const std::int64_t waited =
      std::clamp<std::int64_t>(axis.mille(over) - axis.mille(deadline.from), 0, whole);
  add(track, "span",
      {{"class", is_reached ? "deadline" : "deadline beyond"},
       {"style", fmt::format("{};background-size:{}% 1px", axis.span(deadline.from, to),
                             waited * 100 / whole)},
       {"title", label + ": " + text_of(deadline)}});
}

void add_lane(pugi::xml_node chart, const LaneGroup& group, const std::vector<Mark>& marks,
              const Axis& axis, sim::WorldTime end) {
  pugi::xml_node row = add_class(chart, "div", "lane");
  std::string label = group.nodes.front();
  if (group.nodes.size() > 1) label += fmt::format(" and {} more", group.nodes.size() - 1);
  add(row, "span",
      {{"class", "node"},
       {"title", fmt::format("{}", fmt::join(group.nodes.begin(),
                                             group.nodes.begin() +
                                                 static_cast<std::ptrdiff_t>(
                                                     std::min<std::size_t>(60, group.nodes.size())),
                                             ", "))}},
      label);
  pugi::xml_node track = add_class(row, "div", "track");
  for (const Segment& segment : group.lane->segments) {
    std::string title = fmt::format("{}: {} from {} to {}", label, name_of(segment.phase).title,
                                    clock_text(segment.from), clock_text(segment.to));
    if (segment.round >= 0) title += fmt::format(" (round {})", segment.round);
    add(track, "span",
        {{"class", std::string("segment ") + name_of(segment.phase).style},
         {"style", axis.span(segment.from, segment.to)},
         {"title", title}});
  }
  for (const Deadline& each : group.deadlines) add_deadline(track, each, label, axis, end);
  for (const Mark& mark : marks) {
    add(track, "span",
        {{"class", std::string("line ") + mark.style}, {"style", axis.left(mark.at)}});
  }
}

void add_key(pugi::xml_node parent, const std::vector<Lane>& lanes, bool any_deadline) {
  pugi::xml_node key = add_class(parent, "ul", "key");
  std::array<bool, kPhases> seen{};
  for (const Lane& lane : lanes) {
    for (const Segment& segment : lane.segments)
      seen[static_cast<std::size_t>(segment.phase)] = true;
  }
  const auto explain = [&](const std::string& style, const char* title) {
    pugi::xml_node item = add(key, "li");
    add_class(item, "span", "swatch " + style);
    say(item, title);
  };
  for (std::size_t i = 0; i < kPhases; ++i) {
    if (seen[i]) explain(kPhaseNames[i].style, kPhaseNames[i].title);
  }
  if (any_deadline)
    explain("deadline",
            "a time-out: the line while something waited for it, the stroke where it ends");
}

}  // namespace

void add_lane_chart(pugi::xml_node parent, const RunRecord& record,
                    const std::vector<Finding>& findings,
                    const std::vector<Explanation>& explanations) {
  const std::vector<Lane> lanes = record.lanes();
  const Axis axis(record.end());
  std::vector<Mark> marks = marks_of(record, findings);
  pugi::xml_node chart = add(
      parent, "div", {{"class", "chart"}, {"role", "group"}, {"aria-label", "What each node did"}});
  add_marks(chart, marks, axis);
  const std::vector<LaneGroup> groups = folded(lanes, axis, record.end());
  if (groups.size() > kLanesShown) marks.clear();
  const std::size_t shown = std::min(groups.size(), kLanesShown);
  pugi::xml_node rows = add_class(chart, "div", "lanes");
  std::map<std::string, std::size_t> lane_of;
  for (std::size_t i = 0; i < shown; ++i) {
    add_lane(rows, groups[i], marks, axis, record.end());
    for (const std::string& node : groups[i].nodes) lane_of.emplace(node, i);
  }
  add_cause_chains(rows, findings, explanations, {record.end(), shown, std::move(lane_of)});
  add_axis(chart, axis);
  if (groups.size() > kLanesShown) {
    add_class(chart, "p", "note",
              fmt::format("{} more lanes, each of which differs from those shown, are left out.",
                          groups.size() - kLanesShown));
  }
  const bool any_deadline =
      std::any_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(shown),
                  [](const LaneGroup& group) { return !group.deadlines.empty(); });
  add_key(parent, lanes, any_deadline);
}

void add_time_bar(pugi::xml_node parent, const TimeSplit& split, sim::WorldTime end,
                  bool name_the_job) {
  const Axis axis(end);
  if (name_the_job) add_class(parent, "h3", "job", "Job " + split.run_id);
  pugi::xml_node bar = add(
      parent, "div", {{"class", "bar"}, {"role", "img"}, {"aria-label", "Where the time went"}});
  for (const Slice& slice : split.slices) {
    const std::string words =
        fmt::format("{} {}", short_time(slice.to - slice.from), title_of(slice.spent));
    pugi::xml_node piece = add(bar, "span",
                               {{"class", "segment " + std::string(class_of(slice.spent))},
                                {"style", axis.span(slice.from, slice.to)},
                                {"title", words}});
    if (axis.mille(slice.to) - axis.mille(slice.from) >= 90) add(piece, "b", {}, words);
  }
  pugi::xml_node list = add_class(parent, "ul", "key");
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, split.whole().count()));
  for (std::size_t i = 0; i < kWays; ++i) {
    const auto spent = static_cast<Spent>(i);
    if (split.of(spent) == sim::Duration::zero()) continue;
    pugi::xml_node item = add(list, "li");
    add_class(item, "span", "swatch " + std::string(class_of(spent)));
    say(item, fmt::format("{} {} ({:.0f} %)", title_of(spent), short_time(split.of(spent)),
                          static_cast<double>(split.of(spent).count()) * 100 / whole));
  }
}

}  // namespace hooke::report
