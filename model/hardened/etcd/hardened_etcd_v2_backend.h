#pragma once
// The problem: a write whose answer is lost ends the node that made it, or is denied by its own
// copy; a state that has vanished is an error for ever; and an index fences nothing once
// etcd has lost its data and counts anew.

#include <string>
#include <utility>

#include "model/rendezvous/backends/etcd_v2_backend.h"

namespace hooke::model {

/// A write whose outcome is unknown is looked up by reading again: it has set the state when its
/// own bytes stand there. Nothing is written where the key has vanished, and the caller is told so
/// (nullopt), for what is to be given back is not this backend's to know. A write is done only
/// where the bytes also are those that stood under the token: an etcd that counts anew may have
/// come to the same number with another's state.
class HardenedEtcdV2Backend : public EtcdV2Backend {
 public:
  using EtcdV2Backend::EtcdV2Backend;
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;

 protected:
  [[nodiscard]] EtcdV2Write write_of(const sim::Value& bytes, std::uint64_t fence) const override;
  void on_met(const EtcdV2Node& node) override { met_ = {node.modified_index, node.value}; }

 private:
  /// The latest state that was met: its index and its text.
  std::optional<std::pair<std::uint64_t, std::string>> met_;
};

}  // namespace hooke::model
