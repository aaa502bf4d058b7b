#pragma once
// The dynamic rendezvous as an agent sees it (dynamic_rendezvous.py:DynamicRendezvousHandler).

#include <memory>
#include <optional>
#include <string>

#include "model/rendezvous/core/bootstrap.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/handler_core.h"
#include "model/rendezvous/dynamic/keep_alive.h"

namespace hooke::model {

/// The handler of one node. What is protected and virtual is a step of PyTorch's that a
/// derived class may replace.
class DynamicHandler : public RendezvousHandler {
 public:
  /// No traffic yet.
  DynamicHandler(std::shared_ptr<HandlerCore> core, std::unique_ptr<Bootstrap> bootstrap);
  /// Closes the rendezvous store before the workers' store, as CPython does when it lets go of
  /// PyTorch's handler: `_store` is an older attribute of it than `_shared_tcp_store_server`.
  ~DynamicHandler() override { core_.reset(); }

  [[nodiscard]] std::string get_backend() const override {
    return core_->resources.backend->name();
  }
  [[nodiscard]] std::string get_run_id() const override { return core_->settings.run_id; }
  [[nodiscard]] bool use_agent_store() const override;
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override;
  void set_closed() override;
  std::int64_t num_nodes_waiting() override;
  [[nodiscard]] bool may_have_news() override;
  [[nodiscard]] std::optional<Seat> seat() const override { return seat_; }
  std::vector<Seat> others_alive() override;
  std::vector<std::int64_t> missing_ranks() override;
  std::shared_ptr<Store> job_store() override;
  [[nodiscard]] std::optional<GroupView> view() const override;
  bool shutdown() override;

 protected:
  /// When the join that begins now must be over.
  [[nodiscard]] virtual sim::MonotonicTime join_deadline() const;
  /// Leaves the last round and takes a seat in the next one.
  virtual void enter_round(sim::MonotonicTime deadline);
  virtual void start_keep_alive();
  [[nodiscard]] virtual std::int64_t world_size(const RendezvousState& state) const;
  [[nodiscard]] virtual std::string prefix_of(std::int64_t round) const;
  /// The store of one round.
  virtual std::shared_ptr<Store> round_store(std::int64_t round);
  /// Where the workers of the round meet; of 1.13 the agent decides that.
  virtual void exchange_bootstrap(RendezvousInfo& info);
  /// Nodes that want in, by the state just seen.
  virtual std::int64_t count_waiting() const;
  [[nodiscard]] virtual bool is_alive(const Participant& participant) const;
  /// Called when the heartbeats have stopped, before this node does its last thing.
  virtual void before_leaving() {}
  /// Stops the heartbeats and does the last thing of this node in its rendezvous.
  bool run_to_leave(Operation operation);
  void stop_keep_alive();
  void close();
  sim::Trace& trace() { return core_->ports.trace; }

  std::shared_ptr<HandlerCore> core_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<KeepAlive> keep_alive_;
  SharedList<Participant> members_;  ///< of the round joined last

 private:
  RendezvousInfo join();

  std::int64_t waiting_seen_ = 0;
  std::optional<Seat> seat_;
};

}  // namespace hooke::model
