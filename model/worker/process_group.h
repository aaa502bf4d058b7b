#pragma once
// The process group of a worker, as far as elastic training knows it: its rank, where its store
// is, and its end (torch/distributed/distributed_c10d.py: init_process_group with env://,
// is_initialized, get_rank, get_backend, destroy_process_group). Collectives are not in it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/store/store.h"
#include "model/store/tcp_store.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "model/worker/launch_environment.h"
#include "sim/port/ports.h"

namespace hooke::model {

struct ProcessGroupOptions {
  std::string backend = "gloo";  ///< kept in lower case
  Variant variant = Variant::torch_2_x;
  /// Keys in an agent's store carry the restart count, as before PyTorch 2.6 (and always in 1.13).
  bool restart_count_prefix = false;
  /// After so long without a reply of the store what was asked for fails (TcpStoreOptions);
  /// nullopt: as the variant does.
  std::optional<sim::Duration> reply_limit{};
  PlantedSet planted{};
  /// Puts something between this process and the connection to its store; null: nothing.
  std::function<std::shared_ptr<Store>(const LaunchEnvironment&, std::shared_ptr<Store>)> around{};
};

class ProcessGroup {
 public:
  explicit ProcessGroup(sim::Ports& ports) : ports_(ports) {}
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Joins the store at MASTER_ADDR:MASTER_PORT, which rank 0 serves unless its agent does. Does
  /// not wait for the others. EscapedPythonError "ValueError" when there is a group already, when
  /// the backend has no name, or when the environment says nothing of use; StoreError.
  void init(const ProcessGroupOptions& options);
  [[nodiscard]] bool is_initialized() const { return store_ != nullptr; }
  /// These are of the group that is: EscapedPythonError "ValueError" when there is none, as after
  /// destroy().
  [[nodiscard]] std::int64_t rank() const;
  [[nodiscard]] std::int64_t world_size() const;
  [[nodiscard]] const std::string& backend() const;
  [[nodiscard]] const LaunchEnvironment& launch() const;
  /// A process that waits on it holds it: destroy() may come from another fiber meanwhile.
  [[nodiscard]] std::shared_ptr<Store> store() const;
  /// Whether this worker serves the store, so that the others need it to stay.
  [[nodiscard]] bool serves() const { return server_ != nullptr; }
  /// Leaves the store, and ends it if this worker serves it. Harmless without a group; init() may
  /// follow.
  void destroy();

 private:
  void require() const;

  sim::Ports& ports_;
  std::string backend_;
  LaunchEnvironment launch_;
  std::unique_ptr<TcpStoreServer> server_;
  std::shared_ptr<Store> store_;  ///< null: no group
};

}  // namespace hooke::model
