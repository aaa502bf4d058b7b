// A history per key, and all of them in one log for those that watch.
#include "model/etcd/v3_keys.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

EtcdV3Range EtcdV3Range::of(const std::string& key, const std::string& range_end) {
  if (range_end.empty()) return {key, key + '\0'};
  if (range_end == std::string(1, '\0')) return {key, std::nullopt};
  return {key, range_end};
}

std::vector<EtcdV3KeyValue> EtcdV3Keys::range(const EtcdV3Range& range, std::int64_t at) const {
  HOOKE_CHECK(at >= 0 && at <= seen_revision(), "what is read is no future");
  std::vector<EtcdV3KeyValue> out;
  if (range.empty()) return out;
  for (auto key = keys_.lower_bound(range.from); key != keys_.end() && range.contains(key->first);
       ++key) {
    HOOKE_CHECK(!key->second.empty(), "a key that is kept has a history");
    const std::vector<EtcdV3KeyValue>& history = key->second;
    auto end = history.end();
    if (at > 0) {
      end = std::upper_bound(history.begin(), history.end(), at,
                             [](std::int64_t revision, const EtcdV3KeyValue& one) {
                               return revision < one.mod_revision;
                             });
    }
    if (end != history.begin() && std::prev(end)->create_revision != 0) {
      out.push_back(*std::prev(end));
    }
  }
  return out;
}

std::optional<EtcdV3KeyValue> EtcdV3Keys::find(const std::string& key) const {
  const auto found = keys_.find(key);
  HOOKE_CHECK(found == keys_.end() || !found->second.empty(), "a key that is kept has a history");
  if (found == keys_.end() || found->second.back().create_revision == 0) return std::nullopt;
  return found->second.back();
}

std::optional<EtcdV3KeyValue> EtcdV3Keys::put(const std::string& key, sim::Value value,
                                              std::int64_t lease) {
  std::optional<EtcdV3KeyValue> before = find(key);
  const std::int64_t revision = revision_ + 1;
  HOOKE_CHECK(!before || before->mod_revision <= revision, "a key changes in later revisions only");
  change({key, std::move(value), before ? before->create_revision : revision, revision,
          before ? before->version + 1 : 1, lease});
  return before;
}

std::vector<EtcdV3KeyValue> EtcdV3Keys::remove(const EtcdV3Range& range) {
  std::vector<EtcdV3KeyValue> gone = this->range(range);
  for (const EtcdV3KeyValue& one : gone) change({one.key, {}, 0, revision_ + 1, 0, 0});
  return gone;
}

void EtcdV3Keys::change(EtcdV3KeyValue change) {
  HOOKE_CHECK(!change.key.empty() && change.mod_revision == revision_ + 1,
              "a change has a key and the revision that comes next");
  HOOKE_CHECK((change.version == 0) == (change.create_revision == 0),
              "a key that is removed has no version");
  std::vector<EtcdV3KeyValue>& history = keys_[change.key];
  HOOKE_CHECK(history.empty() || history.back().mod_revision <= change.mod_revision,
              "the changes of a key stand in their order");
  history.push_back(change);
  log_.push_back(std::move(change));
  ++open_;
}

bool EtcdV3Keys::commit() {
  if (open_ == 0) return false;
  HOOKE_CHECK(!log_.empty() && log_.back().mod_revision == revision_ + 1,
              "what is committed was changed");
  HOOKE_CHECK(open_ <= log_.size(), "each change that is open is on the log");
  ++revision_;
  open_ = 0;
  return true;
}

std::vector<EtcdV3KeyValue> EtcdV3Keys::since(std::int64_t revision) const {
  const auto begin = std::lower_bound(log_.begin(), log_.end(), revision,
                                      [](const EtcdV3KeyValue& change, std::int64_t wanted) {
                                        return change.mod_revision < wanted;
                                      });
  return {begin, log_.end()};
}

void EtcdV3Keys::compact(std::int64_t revision) {
  HOOKE_CHECK(revision >= compacted_ && revision <= revision_,
              "a revision that is compacted lies between the last and the present one");
  compacted_ = revision;
  while (!log_.empty() && log_.front().mod_revision < revision) log_.pop_front();
  for (auto key = keys_.begin(); key != keys_.end();) {
    std::vector<EtcdV3KeyValue>& history = key->second;
    const auto later = std::upper_bound(
        history.begin(), history.end(), revision,
        [](std::int64_t at, const EtcdV3KeyValue& one) { return at < one.mod_revision; });
    if (later != history.begin()) {
      // What stood there at that revision can still be read; that nothing stood there is forgotten.
      const auto kept = std::prev(later);
      history.erase(history.begin(), kept->create_revision == 0 ? later : kept);
    }
    key = history.empty() ? keys_.erase(key) : std::next(key);
  }
}

}  // namespace hooke::model
