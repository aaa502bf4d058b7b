// Turns the root object of a pickle into a state, checking every type. Each node object of the
// pickle becomes one NodeRef, so that a state written again shares what it shared before.
#include "model/rendezvous/state/pickle_reader.h"

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/rendezvous/state/pickle_machine.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Kind = PickleKind;

constexpr const char* kAttributeError = "AttributeError";

/// The nodes of a pickle, numbered by object; equal ones have one number in common.
class NodeTable {
 public:
  struct Entry {
    NodeRef node;
    std::uint32_t value;  ///< number of the first equal node
  };

  std::uint32_t add(NodeDesc desc) {
    NodeRef node(std::move(desc));
    if (2 * (entries_.size() + 1) > slots_.size()) grow();
    const auto number = static_cast<std::uint32_t>(entries_.size());
    std::uint32_t& slot = slot_of(node);
    if (slot == 0) slot = number + 1;
    HOOKE_CHECK(slot - 1 <= number, "the first of equal nodes has the lowest number");
    entries_.push_back({std::move(node), slot - 1});
    return number;
  }
  [[nodiscard]] const Entry& operator[](std::uint32_t number) const { return entries_[number]; }

 private:
  /// Number + 1 of the first node equal to `node`, 0 when there is none.
  std::uint32_t& slot_of(const NodeRef& node) {
    const std::size_t mask = slots_.size() - 1;
    HOOKE_CHECK(entries_.size() < slots_.size(), "a table of nodes has a free place");
    std::size_t i = node.hash() & mask;
    while (slots_[i] != 0 && !(entries_[slots_[i] - 1].node == node)) i = (i + 1) & mask;
    return slots_[i];
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : 4 * slots_.size(), 0);
    for (const Entry& entry : entries_) slot_of(entry.node) = entry.value + 1;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;
};

/// Where each node stands in one list: a repeated key of a dict keeps its place.
class Places {
 public:
  /// The place of a node; `next` when it is new.
  std::size_t place(const NodeTable::Entry& entry, std::size_t next) {
    if (entry.value >= places_.size()) places_.resize(entry.value + 1, 0);
    if (places_[entry.value] == 0) places_[entry.value] = next + 1;
    HOOKE_CHECK(places_[entry.value] <= next + 1, "a node stands where it was put first");
    return places_[entry.value] - 1;
  }

 private:
  std::vector<std::size_t> places_;
};

class Builder {
 public:
  Builder(const PickleMachine& machine, Variant variant, Foreign foreign)
      : machine_(machine),
        addressed_(names_nodes_by_address(variant)),
        zoned_(writes_times_with_a_zone(variant)),
        foreign_(foreign),
        numbers_(machine.objects(), 0) {}

  RendezvousState state(PickleIndex root) {
    const PickleObject& object = machine_.object(root);
    require(object, Kind::state, "the root", kAttributeError);
    look_for_the_dead(object);
    RendezvousState out;
    out.round = integer(attribute(object, "round"), "round");
    if (out.round < 0) {
      refuse_pickle(attribute(object, "round").offset, "round to be at least 0",
                    std::to_string(out.round));
    }
    out.complete = boolean(attribute(object, "complete"), "complete");
    if (const auto& deadline = attribute(object, "deadline"); deadline.kind != Kind::none) {
      out.deadline = time(deadline, "deadline");
    }
    out.closed = boolean(attribute(object, "closed"), "closed");
    out.participants = participants(attribute(object, "participants"));
    out.wait_list = set(attribute(object, "wait_list"), "wait_list");
    if (const PickleObject* redundancy = find(object, "redundancy_list")) {
      out.redundancy_list = set(*redundancy, "redundancy_list");
    }
    out.last_heartbeats = heartbeats(attribute(object, "last_heartbeats"));
    out.aware_times = aware_.value_or(zoned_);
    return out;
  }

 private:
  /// Of what else is of another kind than it should be, Python hears when it uses it, if at all.
  void require(const PickleObject& object, Kind kind, std::string_view where,
               const char* escapes_as = nullptr) {
    if (object.kind == kind) return;
    refuse_pickle(object.offset, std::string(where) + " to be " + std::string(to_string(kind)),
                  std::string(to_string(object.kind)), escapes_as);
  }

  /// What PyTorch does first with a state it has read
  /// (dynamic_rendezvous.py:_BackendRendezvousStateHolder._sanitize).
  void look_for_the_dead(const PickleObject& state) {
    const PickleObject& dict = attribute(state, "last_heartbeats");
    require(dict, Kind::dict, "last_heartbeats", kAttributeError);
    const std::span<const PickleIndex> items = machine_.items(dict);
    for (std::size_t i = 1; i < items.size(); i += 2) {
      require(machine_.object(items[i]), Kind::datetime, "a heartbeat", "TypeError");
    }
  }

  /// The last value given to an attribute, null when there is none.
  const PickleObject* find(const PickleObject& owner, std::string_view name) {
    const std::span<const PickleIndex> items = machine_.items(owner);
    HOOKE_CHECK(items.size() % 2 == 0, "each name of an attribute has a value");
    for (std::size_t i = items.size(); i >= 2; i -= 2) {
      const PickleObject& key = machine_.object(items[i - 2]);
      if (key.kind == Kind::text && machine_.text(key) == name) {
        return &machine_.object(items[i - 1]);
      }
    }
    return nullptr;
  }
  const PickleObject& attribute(const PickleObject& owner, std::string_view name) {
    const PickleObject* const found = find(owner, name);
    if (found == nullptr) {
      refuse_pickle(owner.offset,
                    std::string(to_string(owner.kind)) + " with attribute " + std::string(name),
                    "none of that name", kAttributeError);
    }
    return *found;
  }

  std::int64_t integer(const PickleObject& object, std::string_view where) {
    require(object, Kind::integer, where);
    return object.number;
  }
  bool boolean(const PickleObject& object, std::string_view where) {
    const bool zero_or_one =
        object.kind == Kind::integer && (object.number == 0 || object.number == 1);
    if (!zero_or_one) require(object, Kind::boolean, where);
    return object.number != 0;
  }

  sim::WallTime time(const PickleObject& object, std::string_view where) {
    require(object, Kind::datetime, where);
    const std::string_view bytes = machine_.text(object);
    HOOKE_CHECK(bytes.size() == 10, "a datetime has ten bytes");
    const auto at = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    using namespace std::chrono;
    // The top bit of the month says which of two equal local times is meant; UTC has none such.
    const year_month_day date{year(at(0) << 8 | at(1)), month(at(2) & 0x7fU), day(at(3))};
    const auto micros = static_cast<std::int64_t>(at(7) << 16 | at(8) << 8 | at(9));
    // 64-bit nanoseconds reach from 1677 to 2262.
    if (!date.ok() || at(4) > 23 || at(5) > 59 || at(6) > 59 || micros > 999'999 ||
        date.year() < year(1700) || date.year() > year(2250)) {
      refuse_pickle(object.offset, std::string(where) + " to be a time of the years 1700 to 2250",
                    "other bytes");
    }
    // One incumbent decides how the next writer writes: the last time read.
    aware_ = object.zone != 0;
    HOOKE_CHECK(!*aware_ || machine_.object(object.zone).kind == Kind::timezone,
                "the zone of a time is a timezone");
    const microseconds offset(*aware_ ? machine_.object(object.zone).number : 0);
    HOOKE_CHECK(offset > -days(1) && offset < days(1), "no zone is a day away");
    return sim::WallTime(sys_days(date).time_since_epoch() + hours(at(4)) + minutes(at(5)) +
                         seconds(at(6)) + microseconds(micros) - offset);
  }

  std::vector<Participant> participants(const PickleObject& dict) {
    require(dict, Kind::dict, "participants");
    const std::span<const PickleIndex> items = machine_.items(dict);
    HOOKE_CHECK(items.size() % 2 == 0, "each key of a dict has a value");
    std::vector<Participant> out;
    out.reserve(items.size() / 2);
    Places places;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const NodeTable::Entry& entry = node(items[i], "a participant");
      const std::int64_t rank = integer(machine_.object(items[i + 1]), "a rank");
      const std::size_t place = places.place(entry, out.size());
      if (place == out.size()) {
        out.push_back({entry.node, rank});
      } else {
        out[place].rank = rank;
      }
    }
    return out;
  }
  std::vector<Heartbeat> heartbeats(const PickleObject& dict) {
    require(dict, Kind::dict, "last_heartbeats");
    const std::span<const PickleIndex> items = machine_.items(dict);
    HOOKE_CHECK(items.size() % 2 == 0, "each key of a dict has a value");
    std::vector<Heartbeat> out;
    out.reserve(items.size() / 2);
    Places places;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      const NodeTable::Entry& entry = node(items[i], "a node with a heartbeat");
      const sim::WallTime at = time(machine_.object(items[i + 1]), "a heartbeat");
      const std::size_t place = places.place(entry, out.size());
      if (place == out.size()) {
        out.push_back({entry.node, at});
      } else {
        out[place].at = at;
      }
    }
    return out;
  }
  std::vector<NodeRef> set(const PickleObject& set, std::string_view where) {
    require(set, Kind::set, where);
    std::vector<NodeRef> out;
    Places places;
    for (const PickleIndex item : machine_.items(set)) {
      const NodeTable::Entry& entry = node(item, where);
      if (places.place(entry, out.size()) == out.size()) out.push_back(entry.node);
    }
    return out;
  }

  /// The node that object `index` is. Valid until the next call.
  const NodeTable::Entry& node(PickleIndex index, std::string_view where) {
    HOOKE_CHECK(index < numbers_.size(), "a node is an object of the pickle");
    if (numbers_[index] != 0) return nodes_[numbers_[index] - 1];
    const PickleObject& object = machine_.object(index);
    require(object, Kind::node, where);
    const PickleObject* addr = find(object, addressed_ ? "addr" : "fqdn");
    if (addr == nullptr) {
      addr = find(object, addressed_ ? "fqdn" : "addr");
      if (addr != nullptr && foreign_ == Foreign::refused) refuse_foreign();
    }
    if (addr == nullptr) addr = &attribute(object, addressed_ ? "addr" : "fqdn");
    require(*addr, Kind::text, "the address of a node");
    spend_on_addresses(*addr);
    const std::uint32_t number =
        nodes_.add({std::string(machine_.text(*addr)), integer(attribute(object, "pid"), "pid"),
                    integer(attribute(object, "local_id"), "local_id")});
    numbers_[index] = number + 1;
    return nodes_[number];
  }

  [[noreturn]] void refuse_foreign() const {
    throw RendezvousStateError(std::string("the job's agents are PyTorch ") +
                               (addressed_ ? "1.13's" : "2.x'") + " and this one speaks " +
                               (addressed_ ? "2.x" : "1.13") +
                               ": they cannot share a state (--protocol-variant)");
  }

  /// Nodes may share one text in the pickle but not here; a long one shared by many would fill the
  /// memory.
  void spend_on_addresses(const PickleObject& addr) {
    constexpr std::size_t kSharesMax = 32;
    address_bytes_ += addr.size;
    if (address_bytes_ / kSharesMax > machine_.bytes()) {
      refuse_pickle(addr.offset, "addresses in proportion to the data", "a long one many times");
    }
  }

  const PickleMachine& machine_;
  bool addressed_;
  bool zoned_;
  Foreign foreign_;
  std::vector<std::uint32_t> numbers_;  ///< of nodes by object, + 1; 0: not yet known
  NodeTable nodes_;
  std::size_t address_bytes_ = 0;
  std::optional<bool> aware_;
};

}  // namespace

RendezvousState unpickle_state(const std::string& bytes, Variant variant, Foreign foreign) {
  PickleMachine machine(bytes);
  const PickleIndex root = machine.run();
  return Builder(machine, variant, foreign).state(root);
}

}  // namespace hooke::model
