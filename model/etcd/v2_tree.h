#pragma once
// etcd's v2 tree: directories and keys with indices and times to live, and the changes that can
// still be asked for. It answers with the JSON texts of etcd 3.4 (server/etcdserver/api/v2store).

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/ports.h"

namespace hooke::model {

/// What etcd refuses, as it says it.
struct EtcdV2Refusal {
  int status;  ///< of HTTP
  int code;    ///< errorCode
  const char* message;
  std::string cause;
};

/// Paths begin with "/", have no empty parts and no "/" at their end.
class EtcdV2Tree {
 public:
  /// Changes that can still be asked for (etcd keeps as many).
  static constexpr std::size_t kHistoryMax = 1000;

  struct Node {
    bool is_directory = false;
    std::string value;
    std::uint64_t created = 0;  ///< 0: by the write that is to come
    std::uint64_t modified = 0;
    std::optional<sim::MonotonicTime> expires;
    sim::Value shared{};  ///< `value` for its readers, once it has been written
  };
  struct Change {
    std::uint64_t index;
    std::string key;
    bool removes;     ///< delete or expire: waiters below it hear of it too
    bool silent;      ///< a refresh: no client hears of it
    sim::Value told;  ///< what the clients are told that hear of it
    /// A client that waits at `path`, or with `recursive` for everything below it, hears of it.
    [[nodiscard]] bool concerns(const std::string& path, bool recursive) const;
  };

  /// Valid until the next change.
  struct Listed {
    const std::string& key;
    const Node& node;
  };

  /// A text that is true while index() stays as it is, and until a time to live has become less.
  struct Said {
    std::string text;
    sim::MonotonicTime until;
  };

  /// `changed` is called after every change.
  EtcdV2Tree(sim::Clock& clock, std::function<void()> changed)
      : clock_(clock), changed_(std::move(changed)) {}

  [[nodiscard]] std::uint64_t index() const { return index_; }
  [[nodiscard]] const std::deque<Change>& history() const { return history_; }
  /// Changes up to this index cannot be asked for any more, whatever there were.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  /// Forgets all changes but the last.
  void forget();

  [[nodiscard]] const Node* find(const std::string& key) const;
  /// EtcdV2Refusal when there is nothing, or a key in the place of a directory.
  [[nodiscard]] const Node& require(const std::string& key) const;
  /// What require() throws of a key that is not there.
  [[nodiscard]] EtcdV2Refusal refusal_of(const std::string& key) const;
  [[nodiscard]] bool has_children(const std::string& directory) const;
  /// What the answer to a GET lists of a directory, in its order.
  [[nodiscard]] std::vector<Listed> listed(const std::string& directory) const;
  /// The answer to a GET. EtcdV2Refusal.
  [[nodiscard]] Said get(const std::string& key, bool recursive) const;

  /// Puts `node` at `key`, below directories that are made where they are missing; returns the
  /// change's text. `silent`: a refresh. EtcdV2Refusal.
  std::string write(const std::string& action, const std::string& key, Node node,
                    bool silent = false);
  /// Takes `key`, which is there, away with all below it; returns the change's text.
  std::string remove(const std::string& action, const std::string& key);
  /// How much has expired at `time`.
  [[nodiscard]] std::size_t expired(sim::MonotonicTime time) const;
  /// Removes that.
  void expire(sim::MonotonicTime time);
  [[nodiscard]] std::optional<sim::MonotonicTime> next_expiry() const;

 private:
  using Expiry = std::pair<sim::MonotonicTime, std::string>;  ///< when, and the node's path
  /// The first one that is not over at `time`.
  [[nodiscard]] std::set<Expiry>::const_iterator end_of_over(sim::MonotonicTime time) const;
  /// `node`, at `key`, is about to go or to be replaced.
  void forget_expiry(const std::string& key, const Node& node);
  void record(const std::string& key, bool removes, bool silent, const std::string& text);

  sim::Clock& clock_;
  std::function<void()> changed_;
  std::map<std::string, Node> nodes_;
  std::set<Expiry> expiries_;  ///< of all nodes that expire: asked for at every request
  std::uint64_t index_ = 3;    ///< a fresh etcd has written its own membership
  std::uint64_t forgotten_ = 0;
  std::deque<Change> history_;
};

}  // namespace hooke::model
