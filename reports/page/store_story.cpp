// A state holds what the states before it held, so a reader learns of every write since the last one
// that it knows, also of those that later writes have covered.
#include "reports/page/store_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/observe/trace_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;

/// Events that wait for other nodes' come soon after them; older sources are forgotten.
constexpr std::size_t kSources = 4096;

std::string field_text(const sim::Event& event, std::string_view name) {
  return std::string(event.field(name).text());
}

/// "ADD_TO_PARTICIPANTS" in words.
std::string action_words(std::string action) {
  for (char& c : action) {
    c = c == '_' ? ' ' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return action;
}

/// "a_100_0" is process 100 on node a.
std::pair<std::string, std::int64_t> parts_of(const std::string& descriptor) {
  const std::size_t local = descriptor.rfind('_');
  if (local == 0 || local == std::string::npos) return {descriptor, 0};
  const std::size_t middle = descriptor.rfind('_', local - 1);
  if (middle == std::string::npos) return {descriptor, 0};
  std::int64_t pid = 0;
  std::from_chars(descriptor.data() + middle + 1, descriptor.data() + local, pid);
  return {descriptor.substr(0, middle), pid};
}

}  // namespace

void StoreStory::see(const sim::Event& event, const std::string& name) {
  if (event.node == sim::kNoNode) return;
  if (event.type == &ev::rendezvous_exchanged) {
    see_exchange(event, name);
  } else if (event.type == &ev::rendezvous_write) {
    see_write(event, name);
  } else {
    see_members(event, name);
    see_cause(event, name);
  }
}

void StoreStory::see_exchange(const sim::Event& event, const std::string& name) {
  Store& store = stores_[field_text(event, "run_id")];
  const Process process{event.node, event.pid};
  const std::int64_t value = event.field("value").number();
  if (event.field("kind").text() == "read") {
    if (const auto found = store.values.find(value); found != store.values.end()) {
      learn(store, process, found->second, name, event.at);
    }
    return;
  }
  // What it has written holds what it has read; whether that is more, its next event says.
  store.values[value] = store.writes.size();
  last_value_[process] = value;
}

void StoreStory::see_write(const sim::Event& event, const std::string& name) {
  const std::string action = field_text(event, "action");
  if (action == "KEEP_ALIVE") return;
  Store& store = stores_[field_text(event, "run_id")];
  const Process process{event.node, event.pid};
  store.writes.push_back({name, action_words(action), event.at});
  store.values[last_value_[process]] = store.writes.size();
  learn(store, process, store.writes.size(), name, event.at);
}

void StoreStory::learn(Store& store, const Process& process, std::size_t count,
                       const std::string& name, sim::WorldTime at) {
  std::size_t& known = store.known[process];
  for (; known < count; ++known) {
    const Write& write = store.writes[known];
    if (write.node != name) send({write.node, name, write.what, write.at, at, true});
  }
}

/// An event of one node that followed from one of another.
void StoreStory::see_cause(const sim::Event& event, const std::string& name) {
  const std::string type(event.type->name);
  if (const auto found = sources_.find(event.parent.value);
      found != sources_.end() && found->second.node != name) {
    send({found->second.node, name, found->second.what, found->second.at, event.at, false});
  }
  if (sources_.size() >= kSources) sources_.erase(sources_.begin());
  sources_[event.id.value] = {name, type, event.at};
}

void StoreStory::send(Message message) {
  ++message_count_;
  if (messages_.size() < kMessages) messages_.push_back(std::move(message));
}

void StoreStory::see_members(const sim::Event& event, const std::string& name) {
  if (event.type == &ev::rendezvous_added) return see_added(event, name);
  if (event.type == &ev::rendezvous_left) {
    stores_[field_text(event, "run_id")].members.erase({name, event.pid.value});
    change(event, name, "leaves");
  } else if (event.type == &ev::rendezvous_evicted) {
    Store& store = stores_[field_text(event, "run_id")];
    const auto [gone, pid] = parts_of(field_text(event, "descriptor"));
    for (auto* const list : {&store.members, &store.waiting, &store.spare}) {
      give_up(*list, gone, pid);
    }
    change(event, name, "gives up " + gone + " as dead");
  } else if (event.type == &ev::rendezvous_completed) {
    stores_[field_text(event, "run_id")].status = "complete";
    change(event, name, "completes the round");
  } else if (event.type == &ev::rendezvous_closed) {
    stores_[field_text(event, "run_id")].status = "closed";
    change(event, name, "closes");
  }
}

void StoreStory::see_added(const sim::Event& event, const std::string& name) {
  Store& store = stores_[field_text(event, "run_id")];
  const std::int64_t round = event.field("round").number();
  const std::string list = field_text(event, "list");
  const Seat seat{name, event.pid.value};
  if (round > store.round) {
    store.round = round;
    store.members.clear();
    store.status = "gathering";
  }
  store.waiting.erase(seat);
  store.spare.erase(seat);
  auto& into = list == "wait_list"         ? store.waiting
               : list == "redundancy_list" ? store.spare
                                           : store.members;
  into.insert(seat);
  change(event, name, "enters the " + action_words(list));
}

/// A node may call itself otherwise than the trace calls it; its process has the same number.
void StoreStory::give_up(std::set<Seat>& list, const std::string& node, std::int64_t pid) {
  if (list.erase({node, pid}) > 0) return;
  const auto same = [&](const Seat& seat) { return seat.second == pid; };
  if (std::count_if(list.begin(), list.end(), same) == 1) std::erase_if(list, same);
}

std::string StoreStory::first_of(const std::set<Seat>& list) {
  constexpr std::size_t kNames = 8;
  std::string out;
  std::size_t shown = 0;
  for (const auto& [name, pid] : list) {
    if (shown++ == kNames) break;
    out += (out.empty() ? "" : ", ") + name;
  }
  if (list.size() > kNames) out += fmt::format(" and {} more", list.size() - kNames);
  return out;
}

void StoreStory::change(const sim::Event& event, const std::string& name, const std::string& what) {
  ++change_count_;
  if (changes_.size() >= kChanges) return;
  const std::string run_id = field_text(event, "run_id");
  const Store& store = stores_[run_id];
  changes_.push_back({event.at, name, what, run_id, std::max<std::int64_t>(store.round, 0),
                      first_of(store.members), first_of(store.waiting), first_of(store.spare),
                      store.status});
}

}  // namespace hooke::report
