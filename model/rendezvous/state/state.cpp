// Look-ups in the state's lists: sequential over hashes, which beats any index at the sizes of
// rendezvous.
#include "model/rendezvous/state/state.h"

#include <algorithm>

#include "model/rendezvous/state/pickle_text.h"
#include "model/rendezvous/state/pickle_writer.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9fb21c651e98df25ULL;
    value_ ^= value_ >> 29U;
  }
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  void add(sim::WallTime at) { add(std::int64_t{at.time_since_epoch().count()}); }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  void go_on_from(std::uint64_t value) { value_ = value; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

std::uint64_t hash_of(const NodeDesc& desc) {
  Hash hash;
  for (const char c : desc.addr) hash.add(std::uint64_t{static_cast<unsigned char>(c)});
  hash.add(static_cast<std::int64_t>(desc.pid));
  hash.add(static_cast<std::int64_t>(desc.local_id));
  return hash.value();
}

/// A piece with the same before it as in another version has the same hash as there.
template <class T, class AddEntry>
void add(const SharedList<T>& list, Hash& hash, AddEntry add_entry) {
  list.each_piece([&](const auto& piece) {
    auto& known = piece.figures.hash;
    if (known && known->first == hash.value()) return hash.go_on_from(known->second);
    const std::uint64_t before = hash.value();
    for (const T& entry : piece.entries) add_entry(entry);
    known.emplace(before, hash.value());
  });
}

sim::WallTime oldest_of(const SharedList<Heartbeat>::Piece& piece) {
  auto& known = piece.figures.oldest;
  if (!known) {
    known = sim::WallTime::max();
    for (const Heartbeat& entry : piece.entries) known = std::min(*known, entry.at);
  }
  return *known;
}

}  // namespace

NodeRef::NodeRef(NodeDesc desc)
    : desc_(boost::make_local_shared<const NodeDesc>(std::move(desc))),
      hash_(hash_of(*desc_)),
      wire_bytes_(static_cast<std::uint32_t>(pickled_node_value_bytes(*desc_))),
      has_shared_address_(shared_text_number(desc_->addr).has_value()) {}

const Participant* RendezvousState::participant(const NodeRef& node) const {
  return participants.find([&](const Participant& entry) { return entry.node == node; });
}

bool RendezvousState::waits(const NodeRef& node) const {
  return wait_list.find([&](const NodeRef& entry) { return entry == node; }) != nullptr;
}

bool RendezvousState::is_redundant(const NodeRef& node) const {
  return redundancy_list.find([&](const NodeRef& entry) { return entry == node; }) != nullptr;
}

const Heartbeat* RendezvousState::heartbeat(const NodeRef& node) const {
  return last_heartbeats.find([&](const Heartbeat& entry) { return entry.node == node; });
}

sim::WallTime RendezvousState::oldest_heartbeat() const {
  if (!oldest_) {
    oldest_ = sim::WallTime::max();
    last_heartbeats.each_piece(
        [&](const auto& piece) { oldest_ = std::min(*oldest_, oldest_of(piece)); });
  }
  HOOKE_CHECK(!last_heartbeats.empty() || *oldest_ == sim::WallTime::max(),
              "the oldest of no heartbeats is none");
  HOOKE_CHECK(last_heartbeats.empty() || *oldest_ <= last_heartbeats.back().at,
              "no heartbeat is older than the oldest");
  return *oldest_;
}

std::int64_t RendezvousState::digest() const {
  if (digest_.value != 0) return digest_.value;
  Hash hash;
  hash.add(round);
  hash.add(std::uint64_t{complete} << 1U | std::uint64_t{closed});
  hash.add(deadline.value_or(sim::WallTime::max()));
  hash.add(std::uint64_t{participants.size()});
  add(participants, hash, [&](const Participant& entry) {
    hash.add(entry.node.hash());
    hash.add(entry.rank);
  });
  for (const auto* list : {&wait_list, &redundancy_list}) {
    hash.add(std::uint64_t{list->size()});
    add(*list, hash, [&](const NodeRef& node) { hash.add(node.hash()); });
  }
  add(last_heartbeats, hash, [&](const Heartbeat& entry) {
    hash.add(entry.node.hash());
    hash.add(entry.at);
  });
  constexpr unsigned kBits = 53;
  digest_.value =
      std::max(static_cast<std::int64_t>(hash.value() >> (64 - kBits)), std::int64_t{1});
  return digest_.value;
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
