#pragma once
// etcd's v3 key space: every key at every revision since the last compaction (server/mvcc).

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/buffer.h"

namespace hooke::model {

/// Keys from `from` up to, not including, `end`.
struct EtcdV3Range {
  std::string from;
  std::optional<std::string> end;  ///< nullopt: all that come

  /// As a request says it: no `range_end`: that one key; a zero byte: all from `key` on.
  static EtcdV3Range of(const std::string& key, const std::string& range_end);
  [[nodiscard]] bool contains(const std::string& key) const {
    return key >= from && (!end || key < *end);
  }
  [[nodiscard]] bool empty() const { return end && *end <= from; }
};

/// A key as it stood after a change.
struct EtcdV3KeyValue {
  std::string key;
  sim::Value value;
  std::int64_t create_revision = 0;  ///< 0: this is its removal
  std::int64_t mod_revision = 0;     ///< of this change
  std::int64_t version = 0;          ///< writes since it was created
  std::int64_t lease = 0;            ///< 0: none
};

class EtcdV3Keys {
 public:
  /// Of the last commit; 1 in the beginning.
  [[nodiscard]] std::int64_t revision() const { return revision_; }
  /// What a read sees now: one more than revision() between a change and its commit.
  [[nodiscard]] std::int64_t seen_revision() const { return revision_ + (open_ > 0 ? 1 : 0); }
  /// Older revisions are gone; -1 before the first compaction.
  [[nodiscard]] std::int64_t compacted() const { return compacted_; }

  /// In the order of the keys, at the revision `at` (0: now), which must be there.
  [[nodiscard]] std::vector<EtcdV3KeyValue> range(const EtcdV3Range& range,
                                                  std::int64_t at = 0) const;
  [[nodiscard]] std::optional<EtcdV3KeyValue> find(const std::string& key) const;

  // Changes up to commit() have one revision.
  /// Returns what stood there before.
  std::optional<EtcdV3KeyValue> put(const std::string& key, sim::Value value, std::int64_t lease);
  /// Takes away what is in the range; returns it.
  std::vector<EtcdV3KeyValue> remove(const EtcdV3Range& range);
  /// Makes a new revision of them; false when nothing has changed.
  bool commit();

  /// Changes at or after `revision`, in order.
  [[nodiscard]] std::vector<EtcdV3KeyValue> since(std::int64_t revision) const;
  /// Forgets what was before `revision`, which is later than compacted() and not to come.
  void compact(std::int64_t revision);

 private:
  void change(EtcdV3KeyValue change);

  std::map<std::string, std::vector<EtcdV3KeyValue>> keys_;  ///< each one's history
  std::deque<EtcdV3KeyValue> log_;                           ///< the same, in order
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = -1;
  std::size_t open_ = 0;  ///< changes at the end of log_ that are not committed
};

}  // namespace hooke::model
