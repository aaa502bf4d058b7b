// Look-ups in the state's lists: sequential over hashes, which beats any index at the sizes of
// rendezvous.
#include "model/rendezvous/state.h"

#include <algorithm>

#include "model/rendezvous/pickle_writer.h"

namespace hooke::model {
namespace {

std::uint64_t hash_of(const NodeDesc& desc) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
    hash ^= hash >> 29U;
  };
  for (const char c : desc.addr) add(static_cast<unsigned char>(c));
  add(static_cast<std::uint64_t>(desc.pid));
  add(static_cast<std::uint64_t>(desc.local_id));
  return hash;
}

}  // namespace

NodeRef::NodeRef(NodeDesc desc)
    : desc_(boost::make_local_shared<const NodeDesc>(std::move(desc))),
      hash_(hash_of(*desc_)),
      wire_bytes_(static_cast<std::uint32_t>(pickled_node_value_bytes(*desc_))) {}

const Participant* RendezvousState::participant(const NodeRef& node) const {
  for (const Participant& entry : participants) {
    if (entry.node == node) return &entry;
  }
  return nullptr;
}

bool RendezvousState::waits(const NodeRef& node) const {
  return std::find(wait_list.begin(), wait_list.end(), node) != wait_list.end();
}

bool RendezvousState::is_redundant(const NodeRef& node) const {
  return std::find(redundancy_list.begin(), redundancy_list.end(), node) != redundancy_list.end();
}

const Heartbeat* RendezvousState::heartbeat(const NodeRef& node) const {
  for (const Heartbeat& entry : last_heartbeats) {
    if (entry.node == node) return &entry;
  }
  return nullptr;
}

sim::WallTime RendezvousState::oldest_heartbeat() const {
  if (!oldest_) {
    oldest_ = sim::WallTime::max();
    for (const Heartbeat& entry : last_heartbeats) oldest_ = std::min(*oldest_, entry.at);
  }
  return *oldest_;
}

bool operator==(const RendezvousState& a, const RendezvousState& b) {
  return a.round == b.round && a.complete == b.complete && a.deadline == b.deadline &&
         a.closed == b.closed && a.participants == b.participants && a.wait_list == b.wait_list &&
         a.redundancy_list == b.redundancy_list && a.last_heartbeats == b.last_heartbeats &&
         a.aware_times == b.aware_times;
}

std::string to_text(const RendezvousState& state) {
  const auto time = [](sim::WallTime at) {
    return std::to_string(
               std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch()).count()) +
           "us";
  };
  std::string out = "round " + std::to_string(state.round) +
                    (state.complete ? " complete" : " incomplete") +
                    (state.closed ? " closed" : " open");
  if (state.deadline) out += " deadline " + time(*state.deadline);
  out += state.aware_times ? " aware" : " naive";
  out += "\nparticipants:";
  for (const Participant& entry : state.participants) {
    out += " " + entry.node->text() + "=" + std::to_string(entry.rank);
  }
  out += "\nwait_list:";
  for (const NodeRef& node : state.wait_list) out += " " + node->text();
  out += "\nredundancy_list:";
  for (const NodeRef& node : state.redundancy_list) out += " " + node->text();
  out += "\nlast_heartbeats:";
  for (const Heartbeat& entry : state.last_heartbeats) {
    out += " " + entry.node->text() + "=" + time(entry.at);
  }
  return out + "\n";
}

}  // namespace hooke::model
