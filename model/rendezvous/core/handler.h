#pragma once
// What an agent needs of a rendezvous
// (torch/distributed/elastic/rendezvous/api.py:RendezvousHandler).

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/core/group_keeping.h"
#include "model/store/store.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

class TcpStoreServer;

/// Where the workers of a round meet.
struct RendezvousStoreInfo {
  std::string master_addr;
  std::uint16_t master_port = 0;
  friend bool operator==(const RendezvousStoreInfo&, const RendezvousStoreInfo&) = default;
};

/// The result of a round for one node.
struct RendezvousInfo {
  std::shared_ptr<Store> store;  ///< prefixed with run id and round
  std::int64_t round = 0;        ///< -1 where the backend has no rounds (static)
  std::int64_t rank = 0;
  std::int64_t world_size = 0;
  /// Absent in the 1.13 variant: there the agent picks and publishes the address.
  std::optional<RendezvousStoreInfo> bootstrap;
};

/// The methods are those of PyTorch; what its agents do not ask for is in GroupKeeping.
class RendezvousHandler : public GroupKeeping {
 public:
  ~RendezvousHandler() override = default;
  [[nodiscard]] virtual std::string get_backend() const = 0;
  [[nodiscard]] virtual std::string get_run_id() const = 0;
  /// True: the store at `bootstrap` is served by the agent and outlives worker restarts.
  [[nodiscard]] virtual bool use_agent_store() const = 0;
  /// Blocks until a round completes with this node in it.
  virtual RendezvousInfo next_rendezvous() = 0;
  virtual bool is_closed() = 0;
  virtual void set_closed() = 0;
  /// Nodes that want in but are not in the current group.
  virtual std::int64_t num_nodes_waiting() = 0;
  /// False: an agent's look at the others has nothing to ask: num_nodes_waiting() would say 0 from
  /// memory, or is not to be asked yet. True also where that is not known.
  [[nodiscard]] virtual bool may_have_news() { return true; }
  /// Stops background work and closes the rendezvous for all; true on success.
  virtual bool shutdown() = 0;
};

/// What a handler is made from (api.py:RendezvousParameters); `config` holds texts as on the
/// command line.
struct RendezvousParameters {
  std::string backend;
  std::string endpoint;
  std::string run_id;
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  std::string local_addr;  ///< empty: the host's FQDN
  std::map<std::string, std::string> config;
  Variant variant = Variant::torch_2_x;
  std::set<std::string> defects = {};  ///< known ones, see model/variant/defects.h
  PlantedSet planted{};
  /// What a handler of an earlier run has handed on (GroupKeeping::hand_on); null: nothing.
  std::shared_ptr<TcpStoreServer> served = nullptr;

  /// Empty backend, min < 1, max < min: std::invalid_argument naming the value.
  void validate() const;
  [[nodiscard]] std::optional<std::string> get(const std::string& key) const;
  /// std::invalid_argument naming the key when the text is neither true nor false
  /// (torch/distributed/elastic/rendezvous/api.py:RendezvousParameters.get_as_bool).
  [[nodiscard]] std::optional<bool> get_as_bool(const std::string& key) const;
  [[nodiscard]] std::optional<std::int64_t> get_as_int(const std::string& key) const;
  /// Like get_as_int, in seconds; additionally accepts a number with unit (us, ms, s) so that
  /// scenarios and tests can use short spans.
  [[nodiscard]] std::optional<sim::Duration> get_as_seconds(const std::string& key) const;
};

}  // namespace hooke::model
