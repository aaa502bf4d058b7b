#pragma once
// The problem: the workers' address is built once per agent, so that members of a later round meet
// at the store of an earlier one, among keys of rounds that are over.

#include <memory>
#include <optional>
#include <utility>

#include "model/rendezvous/core/bootstrap.h"

namespace hooke::model {

/// Each round has its own information, and an empty store at the port of the last one: members that
/// kept the address find it there. What an agent of PyTorch has told as rank 0 it does not tell
/// again: the address is kept for as long as that agent stays rank 0.
class HardenedBootstrap : public Bootstrap {
 public:
  using Bootstrap::Bootstrap;

  /// The node with rank 0 of the round that for_round() is called for next; nullopt: not known.
  void expect_first(std::optional<NodeDesc> first) { first_ = std::move(first); }
  RendezvousStoreInfo for_round(std::int64_t rank, Store& round_store) override;
  /// Rank 0 has told it in the store of that round.
  [[nodiscard]] bool was_told_in_round() const { return told_in_round_; }

 protected:
  RendezvousStoreInfo exchange(std::int64_t rank, Store& round_store,
                               std::uint16_t server_port) override;

 private:
  std::unique_ptr<TcpStoreServer> serve_anew();

  std::optional<NodeDesc> first_;
  std::optional<NodeDesc> told_by_;  ///< rank 0 of the round that `cached_` is from
  bool told_in_round_ = false;
};

}  // namespace hooke::model
