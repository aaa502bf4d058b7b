#pragma once
// The problem: a state that has vanished is written anew by a node that does not know what is to be
// given back, and a revision fences nothing once etcd has lost its data and counts anew.

#include <optional>
#include <utility>

#include "model/rendezvous/backends/etcd_v3_backend.h"

namespace hooke::model {

/// Nothing is written where the key has vanished, and the caller is told so (nullopt). A write is
/// done only where the bytes also are those that stood under the token: an etcd that counts anew
/// may have come to the same number with another's state.
class HardenedEtcdV3Backend : public EtcdV3Backend {
 public:
  using EtcdV3Backend::EtcdV3Backend;

 protected:
  void on_met(std::int64_t revision, const sim::Value& bytes) override { met_ = {revision, bytes}; }
  [[nodiscard]] const sim::Value* demanded_under(std::int64_t revision) const override {
    return met_ && met_->first == revision ? &met_->second : nullptr;
  }
  [[nodiscard]] bool writes_anew() const override { return false; }

 private:
  std::optional<std::pair<std::int64_t, sim::Value>> met_;  ///< the latest state
};

}  // namespace hooke::model
