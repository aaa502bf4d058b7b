#pragma once
// "etcd": the legacy rendezvous as an agent's handler
// (etcd_rendezvous.py:EtcdRendezvousHandler).

#include <memory>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"

namespace hooke::model {

/// Reads the parameters endpoint (default port 2379), protocol (http or https), cert, key and
/// cacert. std::invalid_argument.
EtcdOptions legacy_etcd_options(const RendezvousParameters& parameters);
/// Reads run id, numbers of nodes, timeout (600 s), last_call_timeout (30 s) and etcd_prefix.
/// std::invalid_argument.
LegacyEtcdSettings legacy_etcd_settings(const RendezvousParameters& parameters);

/// Nothing of etcd is ever a rendezvous error here: it is an EscapedPythonError.
class LegacyEtcdHandler : public RendezvousHandler {
 public:
  /// `job_store`: for what PyTorch's agents do not keep in etcd.
  LegacyEtcdHandler(sim::Ports& ports, const RendezvousParameters& parameters,
                    std::shared_ptr<EtcdV2Client> client, std::shared_ptr<Store> job_store,
                    std::unique_ptr<LegacyEtcdRendezvous> rendezvous);

  [[nodiscard]] std::string get_backend() const override { return "etcd"; }
  [[nodiscard]] std::string get_run_id() const override { return run_id_; }
  [[nodiscard]] bool use_agent_store() const override { return false; }
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override;
  void set_closed() override;
  std::int64_t num_nodes_waiting() override;
  [[nodiscard]] std::optional<Seat> seat() const override { return seat_; }
  std::vector<Seat> others_alive() override;
  std::shared_ptr<Store> job_store() override;
  bool shutdown() override;

 protected:
  virtual std::shared_ptr<Store> round_store(std::int64_t round);
  /// Etcd cannot be reached.
  virtual void on_unreachable(const EtcdConnectionError& /*error*/) const {}

  template <class Call>
  auto raised(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const EtcdError& error) {
      throw EscapedPythonError(
          error.code() == EtcdV2Client::kKeyNotFound ? "EtcdKeyNotFound" : "EtcdException",
          error.what());
    } catch (const EtcdConnectionError& error) {
      on_unreachable(error);
      throw EscapedPythonError("EtcdConnectionFailed", error.what());
    }
  }

  sim::Ports& ports_;
  std::string local_addr_;
  Variant variant_;
  std::string run_id_;
  std::string descriptor_;
  std::shared_ptr<EtcdV2Client> client_;
  std::shared_ptr<Store> job_store_;
  std::unique_ptr<LegacyEtcdRendezvous> rendezvous_;

 private:
  std::int64_t held_round_ = 0;
  std::optional<Seat> seat_;
  std::int64_t waiting_seen_ = 0;
};

}  // namespace hooke::model
