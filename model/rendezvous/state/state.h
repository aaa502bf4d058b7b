#pragma once
// The shared state of a dynamic rendezvous (dynamic_rendezvous.py:_RendezvousState). Nodes exchange
// it as one opaque value; here it is immutable once published and shared by reference between all
// that read it.

#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/core/settings.h"
#include "model/rendezvous/state/shared_list.h"

namespace hooke::model {

/// Shared handle of a node's identity. Carries a hash of the value (not of the address) and the
/// node's share of the pickle's size, so that lists of thousands of nodes are searched and measured
/// without touching the nodes.
class NodeRef {
 public:
  explicit NodeRef(NodeDesc desc);
  const NodeDesc& operator*() const { return *desc_; }
  const NodeDesc* operator->() const { return desc_.get(); }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  /// Bytes of the three field values in a pickle.
  [[nodiscard]] std::uint32_t wire_bytes() const { return wire_bytes_; }
  /// The address is a text that Python keeps once per process (pickle_text.h: shared_text_number).
  [[nodiscard]] bool has_shared_address() const { return has_shared_address_; }
  friend bool operator==(const NodeRef& a, const NodeRef& b) {
    return a.hash_ == b.hash_ && (a.desc_ == b.desc_ || *a.desc_ == *b.desc_);
  }
  /// The same identity, but to Python another object. A pickle writes one object once and refers to
  /// it, but writes equal objects each in full: a node that moves from the wait list to the
  /// participants puts its own object there, while its heartbeat keeps the one that came with the
  /// state.
  [[nodiscard]] NodeRef another_object() const { return NodeRef(*this, *desc_); }
  [[nodiscard]] bool is_same_object(const NodeRef& other) const { return desc_ == other.desc_; }

 private:
  NodeRef(const NodeRef& other, NodeDesc desc)
      : desc_(boost::make_local_shared<const NodeDesc>(std::move(desc))),
        hash_(other.hash_),
        wire_bytes_(other.wire_bytes_),
        has_shared_address_(other.has_shared_address_) {}

  /// Counted without atomics: an edit of a state copies thousands of these, in one thread.
  boost::local_shared_ptr<const NodeDesc> desc_;
  std::uint64_t hash_;
  std::uint32_t wire_bytes_;
  bool has_shared_address_;
};

/// A participant and its rank (0 until the round is complete).
struct Participant {
  NodeRef node;
  std::int64_t rank = 0;
  friend bool operator==(const Participant&, const Participant&) = default;
};
/// When a node last reported, in wall-clock time of the *writer*, whole microseconds.
struct Heartbeat {
  NodeRef node;
  sim::WallTime at{};
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

/// Lists keep the order of insertion, as Python's dicts do and as the stored bytes show.
struct RendezvousState {
  std::int64_t round = 0;
  bool complete = false;
  std::optional<sim::WallTime> deadline;  ///< end of last call
  bool closed = false;
  SharedList<Participant> participants;
  SharedList<NodeRef> wait_list;
  SharedList<NodeRef> redundancy_list;
  SharedList<Heartbeat> last_heartbeats;
  /// Times carry a zone (newest 2.x) or none (1.13). An agent that reads a state writes it back in
  /// the same form.
  bool aware_times = true;

  [[nodiscard]] const Participant* participant(const NodeRef& node) const;
  [[nodiscard]] bool waits(const NodeRef& node) const;
  [[nodiscard]] bool is_redundant(const NodeRef& node) const;
  [[nodiscard]] const Heartbeat* heartbeat(const NodeRef& node) const;
  /// The oldest heartbeat, WallTime::max() when there is none; computed once per published version.
  [[nodiscard]] sim::WallTime oldest_heartbeat() const;
  /// A number for this state on the trace, where states of large clusters would be hundreds of
  /// kilobytes: equal for equal states on every machine, never 0, and small enough for an agent
  /// that reads it as a JSON number. Computed once per published version.
  [[nodiscard]] std::int64_t digest() const;
  /// Must be called by an agent that changes last_heartbeats.
  void heartbeats_changed() { oldest_.reset(); }

  /// Field by field, in order: what a stored form must bring back.
  friend bool operator==(const RendezvousState& a, const RendezvousState& b);

 private:
  /// A copy is made to be changed.
  struct Digest {
    Digest() = default;
    Digest(const Digest&) {}
    Digest& operator=(const Digest&) {
      value = 0;
      return *this;
    }
    std::int64_t value = 0;
  };
  mutable std::optional<sim::WallTime> oldest_;
  mutable Digest digest_;
};

/// All fields, one line per list, for people; times in microseconds since 1970.
std::string to_text(const RendezvousState& state);

using StateRef = std::shared_ptr<const RendezvousState>;

/// Wall times in the state are whole microseconds, as Python's datetime holds them.
inline sim::WallTime truncate_to_microseconds(sim::WallTime time) {
  return std::chrono::floor<std::chrono::microseconds>(time);
}

}  // namespace hooke::model
