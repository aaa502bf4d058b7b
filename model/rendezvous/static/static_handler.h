#pragma once
// The rendezvous in which everything is given beforehand
// (torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py:StaticTCPRendezvous).

#include <cstdint>
#include <memory>
#include <string>

#include "model/rendezvous/core/handler.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// What create_rdzv_handler reads from the parameters.
struct StaticSettings {
  std::string run_id;
  sim::Endpoint endpoint;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  sim::Duration timeout = std::chrono::seconds(600);
  Variant variant = Variant::torch_2_x;
  PlantedSet planted{};  ///< of the store
};

/// std::invalid_argument naming what is missing. `parse`: of the endpoint's text, without a default
/// port.
StaticSettings static_settings(const RendezvousParameters& parameters,
                               sim::Endpoint (*parse)(const std::string&, std::uint16_t));

/// Rank and size are given, rank 0 hosts the store. No rounds, no membership, no keep-alive,
/// nothing to close. The protected steps are where a mend does otherwise.
class StaticHandler : public RendezvousHandler {
 public:
  StaticHandler(sim::Ports& ports, StaticSettings settings)
      : ports_(ports), settings_(std::move(settings)) {}

  [[nodiscard]] std::string get_backend() const override { return "static"; }
  [[nodiscard]] std::string get_run_id() const override { return settings_.run_id; }
  [[nodiscard]] bool use_agent_store() const override { return true; }
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override { return false; }
  void set_closed() override {}
  std::int64_t num_nodes_waiting() override { return 0; }
  [[nodiscard]] bool may_have_news() override { return false; }
  std::shared_ptr<Store> job_store() override;
  GroupState group_state() override { return GroupState::closed; }
  bool shutdown() override { return true; }

 protected:
  [[nodiscard]] virtual TcpStoreOptions store_options() const;
  /// The store that the workers meet in.
  virtual std::shared_ptr<Store> round_store();
  /// How many nodes have counted themselves in; `before`: at the last look.
  virtual std::int64_t joined(std::int64_t before);
  /// From one look at that number to the next; for `waited` it has been too small.
  virtual void pause(sim::Duration waited);

  sim::Ports& ports_;
  const StaticSettings settings_;
  std::unique_ptr<TcpStoreServer> server_;
  std::shared_ptr<Store> store_;

 private:
  /// Rank 0 returns only when every node has counted itself in.
  void wait_for_all();
};

}  // namespace hooke::model
