#pragma once
// Agents of one job tell each other nothing but what they write into its store: which write reached
// which node when, and what the store held after each.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// What a node did and another came to know of.
struct Message {
  std::string from, to;  ///< nodes
  std::string what;      ///< "add to participants"
  sim::WorldTime sent{}, received{};
  bool by_store = true;  ///< false: the receiver waited for it directly, as in a collective
};

/// What the store held after an accepted write that changed more than heartbeats.
struct StoreChange {
  sim::WorldTime at{};
  std::string node, what, run_id;
  std::int64_t round = 0;
  std::string members, waiting, spare;  ///< nodes, the first of them by name
  std::string status;                   ///< gathering, complete, closed
};

class StoreStory {
 public:
  /// `name`: of the node of `event`.
  void see(const sim::Event& event, const std::string& name);

  /// The first kMessages; all of them are counted.
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
  [[nodiscard]] std::uint64_t message_count() const { return message_count_; }
  /// The first kChanges; all of them are counted.
  [[nodiscard]] const std::vector<StoreChange>& changes() const { return changes_; }
  [[nodiscard]] std::uint64_t change_count() const { return change_count_; }

  static constexpr std::size_t kMessages = 300, kChanges = 300;

 private:
  using Process = std::pair<sim::NodeId, sim::Pid>;
  using Seat = std::pair<std::string, std::int64_t>;  ///< node, and the number of the process
  struct Write {
    std::string node, what;
    sim::WorldTime at{};
  };
  /// Of one job.
  struct Store {
    std::vector<Write> writes;                   ///< all but heartbeats, in order
    std::map<std::int64_t, std::size_t> values;  ///< digest: how many of them it holds
    std::map<Process, std::size_t> known;        ///< how many of them a process knows of
    std::int64_t round = -1;
    std::set<Seat> members, waiting, spare;
    std::string status = "gathering";
  };
  struct Source {
    std::string node, what;
    sim::WorldTime at{};
  };

  void see_exchange(const sim::Event& event, const std::string& name);
  void see_write(const sim::Event& event, const std::string& name);
  void learn(Store& store, const Process& process, std::size_t count, const std::string& name,
             sim::WorldTime at);
  void see_cause(const sim::Event& event, const std::string& name);
  void see_members(const sim::Event& event, const std::string& name);
  void see_added(const sim::Event& event, const std::string& name);
  static void give_up(std::set<Seat>& list, const std::string& node, std::int64_t pid);
  static std::string first_of(const std::set<Seat>& list);
  void change(const sim::Event& event, const std::string& name, const std::string& what);
  void send(Message message);

  std::map<std::string, Store> stores_;         ///< by run id
  std::map<Process, std::int64_t> last_value_;  ///< that it has written
  std::map<std::uint64_t, Source> sources_;     ///< recent events that others may wait for
  std::vector<Message> messages_;
  std::vector<StoreChange> changes_;
  std::uint64_t message_count_ = 0, change_count_ = 0;
};

}  // namespace hooke::report
