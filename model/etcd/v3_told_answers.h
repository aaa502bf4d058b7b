#pragma once
// The problem: after each change all clients of a job read the same key. Each answer to a read is made
// once, and told to all that ask for the same until the keys change again.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/etcd/v3_keys.h"
#include "sim/port/buffer.h"
#include "sim/port/check.h"

namespace hooke::model {

class EtcdV3ToldAnswers {
 public:
  struct Answer {
    sim::Value text;
    bool needs_leader = true;
  };

  /// `keys` must outlive it.
  explicit EtcdV3ToldAnswers(const EtcdV3Keys& keys) : keys_(keys), told_at_(version()) {}

  /// What was answered to a request of that text since the keys changed; null: nothing. Valid until
  /// the next call.
  [[nodiscard]] const Answer* find(const std::string& request) {
    if (std::exchange(told_at_, version()) != version()) told_.clear();
    const auto found = told_.find(request);
    return found == told_.end() ? nullptr : &found->second;
  }
  /// The request has changed nothing, and find() has just not found it.
  void keep(const std::string& request, Answer answer) {
    HOOKE_CHECK(told_at_ == version(), "what a read is told depends on the keys alone");
    if (told_.size() >= kMax) told_.clear();
    told_.insert_or_assign(request, std::move(answer));
  }

 private:
  static constexpr std::size_t kMax = 32;
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> version() const {
    return {keys_.seen_revision(), keys_.compacted()};
  }

  const EtcdV3Keys& keys_;
  std::map<std::string, Answer> told_;             ///< by the texts of requests
  std::pair<std::int64_t, std::int64_t> told_at_;  ///< what was seen and what was compacted then
};

}  // namespace hooke::model
