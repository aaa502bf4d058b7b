// A member that the record shows becomes a trace with what it must have done: it began, joined each
// round that it has a rank in, and sent its heartbeats. Of what else it did nothing is told.
#include "scenarios/recorded/record_traces.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "model/observe/trace_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
using namespace std::chrono_literals;

/// "localhost_18964_0": the address, and the process.
std::pair<std::string, sim::Pid> parts_of(const std::string& descriptor) {
  const std::size_t local = descriptor.rfind('_');
  const std::size_t middle =
      local == 0 || local == descriptor.npos ? std::string::npos : descriptor.rfind('_', local - 1);
  if (middle == std::string::npos || middle == 0) return {descriptor, sim::Pid{1}};
  std::int32_t pid = 1;
  std::from_chars(descriptor.data() + middle + 1, descriptor.data() + local, pid);
  return {descriptor.substr(0, middle), sim::Pid{std::max(pid, 1)}};
}

/// Follows one member through the record.
class Member {
 public:
  Member(const StateRecord& record, std::string descriptor, const AgentTrace* like)
      : record_(record) {
    const auto [node, pid] = parts_of(descriptor);
    trace_.path = record.path + " (" + descriptor + ")";
    trace_.node = node;
    trace_.descriptor = std::move(descriptor);
    trace_.is_log = trace_.from_record = true;
    trace_.tells_detail = false;
    pid_ = pid;
    if (like != nullptr && like->events.size() > 1 && like->events[1].type == &ev::agent_settings) {
      started_ = like->events[0].fields;
      settings_ = like->events[1].fields;
    }
  }

  void see(const StateSight& sight) {
    if (const auto beat = sight.heartbeats.find(trace_.descriptor);
        beat != sight.heartbeats.end() && !trace_.events.empty()) {
      emit(std::min(beat->second, sight.at), ev::keep_alive_tick,
           {std::string("ok"), std::string()});
    }
    if (sight.heartbeats_only) return;
    const auto member =
        std::find_if(sight.participants.begin(), sight.participants.end(),
                     [&](const auto& each) { return each.first == trace_.descriptor; });
    if (member == sight.participants.end()) return see_waiting(sight);
    if (trace_.events.empty()) begin(sight.at);
    if (!sight.complete || sight.round == round_) return;
    if (round_ >= 0 && !joining_) leave(sight.at);
    joining_ = false;
    round_ = sight.round;
    const auto size = static_cast<std::int64_t>(sight.participants.size());
    emit(sight.at, ev::rendezvous_joined,
         {record_.run_id, trace_.descriptor, round_, member->second, size, sight.master_addr,
          sight.master_port});
    emit(sight.at, ev::ranks_assigned,
         {record_.run_id, round_, member->second, size, member->second, size});
    emit(sight.at, ev::group_state, {std::string("HEALTHY"), std::int64_t{0}});
  }

  [[nodiscard]] AgentTrace take() { return std::move(trace_); }

 private:
  void see_waiting(const StateSight& sight) {
    const bool waits =
        std::count(sight.wait_list.begin(), sight.wait_list.end(), trace_.descriptor) > 0;
    const bool spare = std::count(sight.redundancy_list.begin(), sight.redundancy_list.end(),
                                  trace_.descriptor) > 0;
    if (!waits && !spare) return;
    if (trace_.events.empty()) begin(sight.at);
    if (round_ >= 0 && !joining_) leave(sight.at);
    if (waits == waits_ && spare == spare_) return;
    waits_ = waits;
    spare_ = spare;
    emit(sight.at, ev::rendezvous_added,
         {record_.run_id, sight.round, std::string(spare ? "redundancy_list" : "wait_list"),
          std::int64_t{0}});
  }

  void begin(sim::WorldTime at) {
    if (started_.empty()) {
      started_ = {
          record_.run_id,  record_.backend, std::int64_t{1},           std::int64_t{1} << 20,
          std::int64_t{1}, std::int64_t{3}, sim::Duration(30s).count()};
      settings_ = {sim::Duration(600s).count(),  sim::Duration(30s).count(),
                   sim::Duration(30s).count(),   sim::Duration(5s).count(),
                   sim::Duration(15s).count(),   sim::Duration(60s).count(),
                   sim::Duration(100ms).count(), sim::Duration(300s).count()};
    }
    emit(at, ev::agent_started, started_);
    emit(at, ev::agent_settings, settings_);
    emit(at, ev::rendezvous_joining, {record_.run_id, trace_.descriptor, std::int64_t{0}});
    joining_ = true;
  }

  void leave(sim::WorldTime at) {
    emit(at, ev::group_restarting, {std::string("membership_change"), std::int64_t{3}, round_});
    emit(at, ev::rendezvous_joining, {record_.run_id, trace_.descriptor, round_});
    joining_ = true;
  }

  void emit(sim::WorldTime at, const sim::EventType& type, std::vector<RawEvent::Field> fields) {
    add_event(trace_, {at, sim::NodeId{}, pid_, &type, std::move(fields),
                       sim::WallTime(at.time_since_epoch())});
  }

  const StateRecord& record_;
  AgentTrace trace_;
  sim::Pid pid_{};
  std::vector<RawEvent::Field> started_, settings_;
  std::int64_t round_ = -1;
  bool joining_ = false, waits_ = false, spare_ = false;
};

std::set<std::string> descriptors_of(const std::vector<AgentTrace>& agents) {
  std::set<std::string> out;
  for (const AgentTrace& agent : agents) {
    for (const RawEvent& event : agent.events) {
      if (event.type == &ev::rendezvous_joining) out.insert(event.text("descriptor"));
    }
  }
  return out;
}

}  // namespace

void set_logs_by(const StateRecord& record, std::vector<AgentTrace>& agents) {
  constexpr sim::Duration kQuarter = 15min;
  std::optional<sim::Duration> apart;
  for (const StateSight& sight : record.sights) {
    if (apart || sight.heartbeats_only || !sight.complete) continue;
    for (const AgentTrace& agent : agents) {
      for (const RawEvent& event : agent.events) {
        if (apart || !agent.is_log || event.type != &ev::rendezvous_joined) continue;
        if (event.number("round") == sight.round) apart = sight.at - event.at;
      }
    }
  }
  for (const AgentTrace& agent : agents) {
    if (!apart && agent.is_log && !record.sights.empty()) {
      apart = record.sights.front().at - agent.events.front().at;
    }
  }
  if (!apart) return;
  const sim::Duration by = (*apart + kQuarter / 2) / kQuarter * kQuarter;
  for (AgentTrace& agent : agents) {
    if (!agent.is_log) continue;
    for (RawEvent& event : agent.events) event.at += by;
  }
}

void add_heartbeats(const StateRecord& record, AgentTrace& agent) {
  if (!agent.is_log || agent.exit_code) return;
  for (const StateSight& sight : record.sights) {
    const auto beat = sight.heartbeats.find(agent.descriptor);
    if (beat == sight.heartbeats.end()) continue;
    agent.shows_life = true;
    if (beat->second <= agent.last()) continue;
    add_event(agent, {beat->second,
                      sim::NodeId{},
                      agent.pid(),
                      &ev::keep_alive_tick,
                      {std::string("ok"), std::string()},
                      sim::WallTime(beat->second.time_since_epoch())});
  }
}

std::vector<AgentTrace> agents_in(const StateRecord& record, const std::vector<AgentTrace>& known) {
  const std::set<std::string> told = descriptors_of(known);
  std::set<std::string> members;
  std::optional<sim::WorldTime> closed;
  for (const StateSight& sight : record.sights) {
    if (sight.closed && !closed) closed = sight.at;
    for (const auto& [name, rank] : sight.participants) members.insert(name);
    members.insert(sight.wait_list.begin(), sight.wait_list.end());
    members.insert(sight.redundancy_list.begin(), sight.redundancy_list.end());
  }
  const AgentTrace* const like = known.empty() ? nullptr : &known.front();
  std::vector<AgentTrace> out;
  for (const std::string& name : members) {
    if (told.contains(name)) continue;
    Member member(record, name, like);
    for (const StateSight& sight : record.sights) member.see(sight);
    AgentTrace trace = member.take();
    if (trace.events.empty()) continue;
    trace.ended_with_job = closed && trace.last() + trace.keep_alive >= *closed;
    out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace hooke::scenario
