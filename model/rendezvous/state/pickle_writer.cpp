// Writer walks the state as CPython's pickler walks the object (save_reduce, batch_dict_exact,
// save_set); what each object costs and where frames end is PickleOutput's matter. Thousands of
// nodes and heartbeats differ only in a few values, so each is written, or counted, in one step
// where no frame can end inside it.
#include "model/rendezvous/state/pickle_writer.h"

#include <array>
#include <chrono>
#include <span>
#include <string_view>
#include <vector>

#include "model/rendezvous/state/pickle_output.h"
#include "model/rendezvous/state/pickle_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Place = PickleOutput::Place;
constexpr Place kNoPlace = PickleOutput::kNoPlace;

constexpr std::string_view kModule = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
constexpr std::size_t kBatch = 1000;
/// Objects memoised by a node after the first: itself, its dict, its address if that is its own.
constexpr Place kNodePlaces = 3;
/// Bytes of a node after the first around its values: class, NEWOBJ, dict, three names, BUILD.
constexpr std::size_t kNodeFrameworkBytes = 16;
/// Objects memoised by a datetime after the first: its bytes, the arguments, itself.
constexpr Place kTimePlaces = 3;

/// The ten bytes in which Python's datetime keeps itself.
std::array<char, 10> packed(sim::WallTime at) {
  HOOKE_CHECK(at == truncate_to_microseconds(at), "a state holds whole microseconds");
  const std::chrono::sys_time<std::chrono::microseconds> time(
      std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  const auto us = static_cast<unsigned>(clock.subseconds().count());
  return {static_cast<char>(year >> 8U),
          static_cast<char>(year & 255U),
          static_cast<char>(static_cast<unsigned>(date.month())),
          static_cast<char>(static_cast<unsigned>(date.day())),
          static_cast<char>(clock.hours().count()),
          static_cast<char>(clock.minutes().count()),
          static_cast<char>(clock.seconds().count()),
          static_cast<char>(us >> 16U),
          static_cast<char>(us >> 8U & 255U),
          static_cast<char>(us & 255U)};
}

/// The nodes of a state's lists in the order in which they are written, and where.
class ListedNodes {
 public:
  ListedNodes(const RendezvousState& state, bool with_redundancy_list)
      : state_(state),
        begin_{0, state.participants.size(), state.participants.size() + state.wait_list.size()},
        size_(begin_[2] + (with_redundancy_list ? state.redundancy_list.size() : 0)) {
    places_.reserve(size_);
  }

  /// The next node of the lists is about to be written; `classes_first`: with its class, which
  /// comes before the node, as does the name of the class.
  void about_to_write(Place next, bool classes_first) {
    HOOKE_CHECK(places_.size() < size_, "each node of the lists is written once");
    places_.push_back(next + (classes_first ? 2 : 0));
  }

  [[nodiscard]] bool are_all_written() const { return places_.size() == size_; }
  /// Where the object of `node` is in the memo; kNoPlace when no list has that very object. Fast
  /// when heartbeats come in about the order of the lists.
  Place find(const NodeRef& node) {
    for (std::size_t i = expected_; i < size_ && i < expected_ + kLookAhead; ++i) {
      if (at(i) == node) return found(i, node);
    }
    if (size_ == 0) return kNoPlace;
    if (slots_.empty()) build_index();
    HOOKE_CHECK(slots_.size() > size_, "an index of nodes has a free place");
    for (std::size_t slot = node.hash() & mask_; slots_[slot] != 0; slot = (slot + 1) & mask_) {
      if (at(slots_[slot] - 1) == node) return found(slots_[slot] - 1, node);
    }
    return kNoPlace;
  }

 private:
  static constexpr std::size_t kLookAhead = 3;

  [[nodiscard]] const NodeRef& at(std::size_t i) const {
    HOOKE_CHECK(i < size_, "a node of the lists is one of them");
    if (i < begin_[1]) return state_.participants[i].node;
    if (i < begin_[2]) return state_.wait_list[i - begin_[1]];
    return state_.redundancy_list[i - begin_[2]];
  }
  Place found(std::size_t i, const NodeRef& node) {
    expected_ = i + 1 == size_ ? 0 : i + 1;
    HOOKE_CHECK(i < places_.size(), "lists are written before heartbeats");
    if (!at(i).is_same_object(node)) return kNoPlace;
    return places_[i];
  }
  void build_index() {
    std::size_t capacity = 16;
    while (capacity < 2 * size_) capacity *= 2;
    slots_.assign(capacity, 0);
    mask_ = capacity - 1;
    for (std::size_t i = 0; i < size_; ++i) {
      std::size_t slot = at(i).hash() & mask_;
      while (slots_[slot] != 0) slot = (slot + 1) & mask_;
      slots_[slot] = static_cast<std::uint32_t>(i + 1);
    }
  }

  const RendezvousState& state_;
  std::array<std::size_t, 3> begin_;
  std::size_t size_;
  std::size_t expected_ = 0;
  std::vector<Place> places_;         ///< of those written so far
  std::vector<std::uint32_t> slots_;  ///< position + 1 by hash, 0: free; made when first needed
  std::size_t mask_ = 0;
};

class Writer {
 public:
  Writer(const RendezvousState& state, Variant variant, std::span<char> kept)
      : state_(state),
        addressed_(names_nodes_by_address(variant)),
        has_spares_(keeps_spares(variant)),
        out_(kept),
        listed_(state, keeps_spares(variant)) {}

  std::size_t write() {
    out_.boundary();
    module_ = out_.text(kModule);
    out_.text("_RendezvousState");
    out_.op(0x93);  // STACK_GLOBAL
    out_.memoize();
    new_object();
    field("round", [&] { out_.integer(state_.round); });
    field("complete", [&] { boolean(state_.complete); });
    field("deadline", [&] { deadline(); });
    field("closed", [&] { boolean(state_.closed); });
    field("participants", [&] { participants(); });
    field("wait_list", [&] { set(state_.wait_list); });
    if (has_spares_) field("redundancy_list", [&] { set(state_.redundancy_list); });
    field("last_heartbeats", [&] { heartbeats(); });
    out_.raw("ub");  // SETITEMS, BUILD
    HOOKE_CHECK(listed_.are_all_written(), "each node of the lists is written");
    return out_.finish();
  }

 private:
  template <class Body>
  void field(std::string_view name, Body body) {
    out_.text(name);
    out_.boundary();
    body();
  }

  /// A text that is one and the same object throughout: written once, then referred to.
  void shared_text(Place& place, std::string_view value) {
    if (place == kNoPlace) {
      place = out_.text(value);
    } else {
      out_.get(place);
    }
  }
  void boolean(bool value) { out_.op(value ? 0x88 : 0x89); }
  /// An instance of the class just written, up to the first attribute's name.
  void new_object() {
    out_.boundary();
    out_.raw(")\x81");  // EMPTY_TUPLE, NEWOBJ
    out_.memoize();
    new_dict();
    out_.op('(');
  }
  void new_dict() {
    out_.boundary();
    out_.op('}');
    out_.memoize();
  }
  /// A class of a module that has been named before.
  Place global(Place module, std::string_view name) {
    out_.get(module);
    out_.text(name);
    out_.op(0x93);
    return out_.memoize();
  }

  /// A node that was not written before. Class and names are written early: their places are below
  /// 256, so that kNodeFrameworkBytes holds.
  void node(const NodeRef& ref) {
    out_.boundary();
    if (node_class_ == kNoPlace) {
      node_class_ = global(module_, "_NodeDesc");
      HOOKE_CHECK(node_class_ < 256, "the class of nodes has a place of one byte");
    } else {
      if (counts_at_once(ref)) {
        return out_.skip(kNodeFrameworkBytes + ref.wire_bytes(), kNodePlaces);
      }
      out_.get(node_class_);
    }
    new_object();
    shared_text(addr_name_, addressed_ ? "addr" : "fqdn");
    address(ref);
    shared_text(pid_name_, "pid");
    out_.integer(ref->pid);
    shared_text(local_id_name_, "local_id");
    HOOKE_CHECK(local_id_name_ < 256, "the names of attributes have places of one byte");
    out_.integer(ref->local_id);
    out_.raw("ub");
  }
  void address(const NodeRef& ref) {
    const auto shared = shared_text_number(ref->addr);
    if (!shared) {
      out_.text(ref->addr);
      return;
    }
    if (shared_addresses_.empty()) shared_addresses_.assign(kSharedTexts, kNoPlace);
    shared_text(shared_addresses_[*shared], ref->addr);
  }
  /// Only counting, the class has been written, and no frame can end inside the node.
  [[nodiscard]] bool counts_at_once(const NodeRef& ref, std::size_t and_bytes = 0) const {
    return out_.counts_only() && node_class_ != kNoPlace && !ref.has_shared_address() &&
           out_.fits(kNodeFrameworkBytes + ref.wire_bytes() + and_bytes);
  }
  void listed_node(const NodeRef& ref) {
    listed_.about_to_write(out_.next_place(), node_class_ == kNoPlace);
    node(ref);
  }

  void participants() {
    new_dict();
    dict(state_.participants, [&](const Participant& entry) {
      // Before a round is complete every rank is 0: an integer of two bytes, nothing to memoise.
      if (entry.rank >= 0 && entry.rank < 256 && counts_at_once(entry.node, 2)) {
        listed_.about_to_write(out_.next_place(), false);
        return out_.skip(kNodeFrameworkBytes + entry.node.wire_bytes() + 2, kNodePlaces);
      }
      listed_node(entry.node);
      out_.integer(entry.rank);
    });
  }

  /// A full batch is followed by another one, an empty one if need be.
  void set(const SharedList<NodeRef>& members) {
    out_.op(0x8f);  // EMPTY_SET
    out_.memoize();
    if (members.empty()) return;
    std::size_t i = 0;
    for (std::size_t in_batch = kBatch; in_batch == kBatch;) {
      out_.op('(');
      for (in_batch = 0; i < members.size() && in_batch < kBatch; ++i, ++in_batch) {
        listed_node(members[i]);
      }
      out_.op(0x90);  // ADDITEMS
    }
  }

  template <class T, class Body>
  void dict(const SharedList<T>& entries, Body body) {
    if (entries.empty()) return;
    if (entries.size() == 1) {
      body(entries[0]);
      out_.op('s');
      return;
    }
    std::size_t i = 0;
    for (std::size_t in_batch = kBatch; in_batch == kBatch;) {
      out_.op('(');
      for (in_batch = 0; i < entries.size() && in_batch < kBatch; ++i, ++in_batch) {
        body(entries[i]);
      }
      out_.op('u');
    }
  }

  void heartbeats() {
    new_dict();
    dict(state_.last_heartbeats, [&](const Heartbeat& entry) {
      const Place place = listed_.find(entry.node);
      if (counts_later_times()) {
        const bool listed = place != kNoPlace;
        const std::size_t bytes =
            later_time_bytes() + (listed ? PickleOutput::get_bytes(place)
                                         : kNodeFrameworkBytes + entry.node.wire_bytes());
        check_time(entry.at);
        if (listed ? out_.fits(bytes) : counts_at_once(entry.node, later_time_bytes())) {
          return out_.skip(bytes, kTimePlaces + (listed ? 0 : kNodePlaces));
        }
      }
      if (place != kNoPlace) {
        out_.get(place);
      } else {
        node(entry.node);
      }
      time(entry.at);
    });
  }

  void deadline() {
    if (state_.deadline) {
      time(*state_.deadline);
    } else {
      out_.op('N');
    }
  }

  /// Only counting, and class and zone of times have been written: every further time has the same
  /// size.
  [[nodiscard]] bool counts_later_times() const {
    return out_.counts_only() && datetime_class_ != kNoPlace &&
           (zone_ != kNoPlace || !state_.aware_times);
  }
  /// Class, ten bytes in an opcode, perhaps the zone, tuple, REDUCE; three times MEMOIZE.
  [[nodiscard]] std::size_t later_time_bytes() const {
    return PickleOutput::get_bytes(datetime_class_) + 12 +
           (state_.aware_times ? PickleOutput::get_bytes(zone_) : 0) + 2 + 3;
  }

  static void check_time(sim::WallTime at) {
    HOOKE_CHECK(at == truncate_to_microseconds(at), "a state holds whole microseconds");
  }

  void time(sim::WallTime at) {
    check_time(at);
    out_.boundary();
    if (datetime_class_ == kNoPlace) {
      datetime_module_ = out_.text("datetime");
      out_.text("datetime");  // equal, but another object to CPython
      out_.op(0x93);
      datetime_class_ = out_.memoize();
    } else {
      if (counts_later_times() && out_.fits(later_time_bytes())) {
        return out_.skip(later_time_bytes(), kTimePlaces);
      }
      out_.get(datetime_class_);
    }
    out_.boundary();  // of the bytes
    const auto bytes = packed(at);
    out_.raw("C\x0a");
    out_.raw({bytes.data(), bytes.size()});
    out_.memoize();
    if (state_.aware_times) zone();
    out_.op(state_.aware_times ? 0x86 : 0x85);  // TUPLE2, TUPLE1
    out_.memoize();
    out_.op('R');
    out_.memoize();
  }

  /// timezone(timedelta(0, 0, 0)), one object per pickle.
  void zone() {
    if (zone_ != kNoPlace) return out_.get(zone_);
    out_.boundary();
    global(datetime_module_, "timezone");
    global(datetime_module_, "timedelta");
    for (int i = 0; i < 3; ++i) out_.integer(0);
    out_.op(0x87);  // TUPLE3
    out_.memoize();
    out_.op('R');
    out_.memoize();
    out_.op(0x85);
    out_.memoize();
    out_.op('R');
    zone_ = out_.memoize();
  }

  const RendezvousState& state_;
  bool addressed_;
  bool has_spares_;
  PickleOutput out_;
  ListedNodes listed_;
  Place module_ = kNoPlace;
  Place node_class_ = kNoPlace;
  std::vector<Place> shared_addresses_;  ///< by shared_text_number(); empty before the first
  Place addr_name_ = kNoPlace, pid_name_ = kNoPlace, local_id_name_ = kNoPlace;
  Place datetime_module_ = kNoPlace, datetime_class_ = kNoPlace, zone_ = kNoPlace;
};

}  // namespace

std::string pickle_state(const RendezvousState& state, Variant variant) {
  std::string bytes(pickled_state_bytes(state, variant), '\0');
  const std::size_t size = Writer(state, variant, bytes).write();
  HOOKE_CHECK(size == bytes.size(), "a pickle is as long as was counted");
  return bytes;
}

std::size_t pickled_state_bytes(const RendezvousState& state, Variant variant) {
  return Writer(state, variant, {}).write();
}

std::size_t pickled_node_value_bytes(const NodeDesc& desc) {
  return pickled_text_bytes(desc.addr.size()) + pickled_int_bytes(desc.pid) +
         pickled_int_bytes(desc.local_id);
}

}  // namespace hooke::model
