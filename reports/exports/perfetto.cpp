// Spans of a track may not overlap, so a node on which two agents lived at once has two tracks.
#include "reports/exports/perfetto.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace hooke::report {
namespace {

using nlohmann::ordered_json;

/// The world, where faults and violations stand; nodes are numbered from kFirstNode.
constexpr int kWorld = 1, kFirstNode = 2;
/// What a node did is on this track; its agents are on those after it.
constexpr int kEvents = 1, kFirstAgent = 2;

double microseconds(sim::Duration time) {
  return static_cast<double>(time.count()) / 1'000;
}
double microseconds(sim::WorldTime at) {
  return microseconds(at.time_since_epoch());
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::rendezvous: return "rendezvous";
    case Phase::training: return "training";
    case Phase::peer_lost: return "a peer is dead";
    case Phase::restarting: return "restarting";
    case Phase::leaving: return "leaving";
  }
  return "";
}

class Writer {
 public:
  void name_process(int process, const std::string& name) {
    events_.push_back(
        {{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
    events_.push_back({{"ph", "M"},
                       {"pid", process},
                       {"name", "process_sort_index"},
                       {"args", {{"sort_index", process}}}});
  }
  void name_track(int process, int track, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"pid", process},
                       {"tid", track},
                       {"name", "thread_name"},
                       {"args", {{"name", name}}}});
  }
  void span(int process, int track, const Segment& segment) {
    events_.push_back({{"ph", "X"},
                       {"pid", process},
                       {"tid", track},
                       {"cat", "agent"},
                       {"name", name_of(segment.phase)},
                       {"ts", microseconds(segment.from)},
                       {"dur", microseconds(segment.to - segment.from)},
                       {"args", {{"job", segment.run_id}, {"round", segment.round}}}});
  }
  /// `scope`: "g" is a line across all tracks, "t" a mark on its own.
  void instant(int process, const char* scope, const char* category, const std::string& name,
               sim::WorldTime at, ordered_json arguments) {
    events_.push_back({{"ph", "i"},
                       {"s", scope},
                       {"pid", process},
                       {"tid", kEvents},
                       {"cat", category},
                       {"name", name},
                       {"ts", microseconds(at)},
                       {"args", std::move(arguments)}});
  }
  [[nodiscard]] std::string text() const {
    return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events_}}.dump(
               -1, ' ', false, ordered_json::error_handler_t::replace) +
           "\n";
  }

 private:
  ordered_json events_ = ordered_json::array();
};

void write_lane(Writer& out, int process, const Lane& lane) {
  std::vector<sim::WorldTime> ends;  // by track
  for (const Segment& segment : lane.segments) {
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&](sim::WorldTime end) { return end <= segment.from; });
    const int track = kFirstAgent + static_cast<int>(free - ends.begin());
    if (free == ends.end()) {
      out.name_track(process, track, "agent");
      ends.push_back(segment.to);
    } else {
      *free = segment.to;
    }
    out.span(process, track, segment);
  }
}

}  // namespace

std::string perfetto_trace(const RunRecord& record,
                           const std::vector<properties::Violation>& violations) {
  Writer out;
  out.name_process(kWorld, "faults and violations");
  out.name_track(kWorld, kEvents, "events");
  std::map<std::string, int> processes{{"", kWorld}};
  for (const Lane& lane : record.lanes()) {
    const int process = kFirstNode + static_cast<int>(processes.size()) - 1;
    processes.emplace(lane.node, process);
    out.name_process(process, "node " + lane.node);
    out.name_track(process, kEvents, "events");
    write_lane(out, process, lane);
  }
  for (const FaultMark& fault : record.faults()) {
    out.instant(kWorld, "g", "fault", fault.what, fault.at, ordered_json::object());
  }
  for (const properties::Violation& violation : violations) {
    out.instant(kWorld, "g", "violation", violation.invariant, violation.at,
                {{"witness", violation.witness}});
  }
  for (const EventLine& line : record.lines()) {
    const auto found = processes.find(line.node);
    out.instant(found == processes.end() ? kWorld : found->second, "t", "event", line.text, line.at,
                {{"event", line.event}});
  }
  return out.text();
}

}  // namespace hooke::report
