// Read twice: the names of all nodes must be known before the first event.
#include <algorithm>
#include <map>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/recorded_events.h"

namespace hooke::scenario {
namespace {

class RunTrace final : public RecordedEvents {
 public:
  explicit RunTrace(std::string path) : path_(std::move(path)) {
    TraceReader reader(path_);
    while (const auto line = reader.next()) {
      if (!line->node.empty()) node_of(line->node);
    }
    if (reader.cut_off()) {
      assumptions_.push_back(path_ + ": its last line is cut off and was not used");
    }
    if (!reader.end()) {
      assumptions_.push_back(path_ +
                             " does not say when its run ended: it is judged as of its last event");
    }
  }

  void play(const std::vector<kernel::TraceSink*>& sinks) override;

 private:
  sim::NodeId node_of(const std::string& name) {
    const auto next = sim::NodeId{static_cast<std::uint32_t>(names_.size())};
    const auto [known, added] = nodes_.try_emplace(name, next);
    if (added) names_.push_back(name);
    return known->second;
  }

  std::string path_;
  std::map<std::string, sim::NodeId> nodes_;
};

void RunTrace::play(const std::vector<kernel::TraceSink*>& sinks) {
  TraceReader reader(path_);
  std::uint64_t last_id = 0;
  while (auto line = reader.next()) {
    if (line->id <= last_id) {
      throw ScenarioError(path_ + ": event " + std::to_string(line->id) +
                          ": expected events in order of their numbers, got it after event " +
                          std::to_string(last_id));
    }
    if (line->parent >= line->id) {
      throw ScenarioError(path_ + ": event " + std::to_string(line->id) +
                          ": expected a cause before it, got event " +
                          std::to_string(line->parent));
    }
    if (line->event.at < end_) {
      throw ScenarioError(path_ + ": event " + std::to_string(line->id) +
                          ": expected events in order of time, got one of an earlier time");
    }
    last_id = line->id;
    end_ = line->event.at;
    const std::vector<sim::FieldValue> values = line->event.values();
    sim::Event event{sim::EventId{line->id},
                     sim::EventId{line->parent},
                     line->event.at,
                     line->event.wall.value_or(sim::WallTime()),
                     line->node.empty() ? sim::kNoNode : node_of(line->node),
                     line->event.pid,
                     line->event.type,
                     values};
    for (kernel::TraceSink* const sink : sinks) sink->on_event(event);
  }
  end_ = std::max(end_, reader.end().value_or(end_));
}

}  // namespace

std::unique_ptr<RecordedEvents> open_run_trace(const std::string& path) {
  return std::make_unique<RunTrace>(path);
}

}  // namespace hooke::scenario
