// Each line is an object with a type; the first one says whose record it is. What reads it trusts
// nothing.
#include "scenarios/recorded/state_record.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/trace_line.h"

namespace hooke::scenario {
namespace {

using Json = nlohmann::ordered_json;

/// Members of one list; a state with more is no state of a rendezvous.
constexpr std::size_t kMembersMax = 100'000;
constexpr std::size_t kLineBytesMax = std::size_t{16} * 1024 * 1024;

Json record_line(const char* type, sim::WallTime now) {
  return {{"type", type}, {"at_ns", now.time_since_epoch().count()}};
}

std::string record_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// All but heartbeats, which come every few seconds.
bool same_members(const model::RendezvousState& a, const model::RendezvousState& b) {
  return a.round == b.round && a.complete == b.complete && a.closed == b.closed &&
         a.participants == b.participants && a.wait_list == b.wait_list &&
         a.redundancy_list == b.redundancy_list;
}

Json new_heartbeats(const model::RendezvousState& state, const model::RendezvousState* before) {
  Json out = Json::object();
  for (const model::Heartbeat& heartbeat : state.last_heartbeats) {
    const model::Heartbeat* const old =
        before == nullptr ? nullptr : before->heartbeat(heartbeat.node);
    if (old != nullptr && old->at == heartbeat.at) continue;
    out[heartbeat.node->text()] = heartbeat.at.time_since_epoch().count();
  }
  return out;
}

Json names(const model::SharedList<model::NodeRef>& nodes) {
  Json out = Json::array();
  for (const model::NodeRef& node : nodes) out.push_back(node->text());
  return out;
}

}  // namespace

StateRecorder::StateRecorder(std::ostream& out, const std::string& run_id,
                             const std::string& backend, sim::Duration every, sim::WallTime now)
    : out_(out) {
  Json json = record_line("record.began", now);
  json["version"] = 1;
  json["run_id"] = run_id;
  json["backend"] = backend;
  json["every_ns"] = every.count();
  out_ << record_text(json) << std::flush;
}

void StateRecorder::saw(const model::RendezvousView& view, sim::WallTime now) {
  reached_ = true;
  if (view.state == nullptr) return;
  const model::RendezvousState& state = *view.state;
  const Json heartbeats = new_heartbeats(state, last_.get());
  if (last_ != nullptr && same_members(state, *last_)) {
    last_ = view.state;
    if (heartbeats.empty()) return;
    Json json = record_line("record.heartbeats", now);
    json["heartbeats"] = heartbeats;
    out_ << record_text(json) << std::flush;
    return;
  }
  last_ = view.state;
  Json json = record_line("record.state", now);
  json["round"] = state.round;
  json["complete"] = state.complete;
  json["closed"] = state.closed;
  json["participants"] = Json::object();
  for (const model::Participant& member : state.participants) {
    json["participants"][member.node->text()] = member.rank;
  }
  json["wait_list"] = names(state.wait_list);
  json["redundancy_list"] = names(state.redundancy_list);
  json["heartbeats"] = heartbeats;
  json["master_addr"] = view.master ? view.master->master_addr : "";
  json["master_port"] = view.master ? view.master->master_port : 0;
  out_ << record_text(json) << std::flush;
}

void StateRecorder::unreachable(const std::string& why, sim::WallTime now) {
  if (!std::exchange(reached_, false)) return;
  Json json = record_line("record.unreachable", now);
  json["why"] = why;
  out_ << record_text(json) << std::flush;
}

void StateRecorder::ended(sim::WallTime now) {
  out_ << record_text(record_line("record.ended", now)) << std::flush;
}

namespace {

sim::WorldTime instant(const Place& place) {
  return sim::WorldTime(sim::Duration(place.integer(0, std::int64_t{1} << 61)));
}

std::vector<std::string> names_from(const Place& place) {
  std::vector<std::string> out;
  for (const Place& each : place.items()) out.push_back(each.shown_text());
  if (out.size() > kMembersMax) place.refuse_value("at most 100000 members");
  return out;
}

std::map<std::string, sim::WorldTime> heartbeats_from(const Place& place) {
  std::map<std::string, sim::WorldTime> out;
  for (const auto& [name, at] : place.members()) out.emplace(name, instant(at));
  return out;
}

StateSight state_from(const Place& root) {
  root.object({"type", "at_ns", "round", "complete", "closed", "participants", "wait_list",
               "redundancy_list", "heartbeats", "master_addr", "master_port"});
  StateSight out;
  out.round = root.at("round").integer(0, std::int64_t{1} << 40);
  out.complete = root.at("complete").truth();
  out.closed = root.at("closed").truth();
  for (const auto& [name, rank] : root.at("participants").members()) {
    out.participants.emplace_back(name, rank.integer(0, kMembersMax));
  }
  out.wait_list = names_from(root.at("wait_list"));
  out.redundancy_list = names_from(root.at("redundancy_list"));
  out.heartbeats = heartbeats_from(root.at("heartbeats"));
  out.master_addr = root.at("master_addr").shown_text();
  out.master_port = root.at("master_port").integer(0, 65'535);
  return out;
}

void take(const std::string& text, const std::string& source, StateRecord& record) {
  const Json document = parse_json(text, source);
  const Place root(document, "", source);
  if (!document.is_object()) root.refuse_value("a line of a record as a JSON object");
  const std::string type = root.at("type").text();
  const sim::WorldTime at = instant(root.at("at_ns"));
  if (at < record.ended) root.at("at_ns").refuse_value("lines in order of time");
  record.ended = at;
  if (type == "record.began") {
    if (!record.backend.empty()) root.at("type").refuse("one beginning", "a second one");
    root.object({"type", "at_ns", "version", "run_id", "backend", "every_ns"});
    static_cast<void>(root.at("version").integer(1, 1));
    record.run_id = root.at("run_id").shown_text();
    record.backend = root.at("backend").shown_text();
    record.every = sim::Duration(root.at("every_ns").integer(1, kTraceNumberMax));
  } else if (type == "record.state") {
    record.sights.push_back(state_from(root));
    record.sights.back().at = at;
  } else if (type == "record.heartbeats") {
    root.object({"type", "at_ns", "heartbeats"});
    StateSight& sight = record.sights.emplace_back();
    sight.at = at;
    sight.heartbeats_only = true;
    sight.heartbeats = heartbeats_from(root.at("heartbeats"));
  } else if (type != "record.unreachable" && type != "record.ended") {
    root.at("type").refuse("the type of a line of a record", '"' + type + '"');
  }
}

}  // namespace

bool is_state_record(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string first(32, '\0');
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  return first.starts_with("{\"type\":\"record.began\"");
}

StateRecord read_state_record(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  StateRecord record;
  record.path = path;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string source = path + ": line " + std::to_string(number);
    if (line.size() > kLineBytesMax) throw ScenarioError(source + ": expected a shorter line");
    if (in.eof()) break;  // its writer was killed
    take(line, source, record);
  }
  return record;
}

}  // namespace hooke::scenario
