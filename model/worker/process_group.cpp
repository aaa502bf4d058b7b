// Nothing is kept of a group that does not come about.
#include "model/worker/process_group.h"

#include <algorithm>
#include <utility>

#include "model/observe/python_error.h"
#include "model/store/kinds/tcp_stores.h"
#include "sim/port/check.h"

namespace hooke::model {

void ProcessGroup::init(const ProcessGroupOptions& options) {
  if (is_initialized()) {
    throw EscapedPythonError("ValueError", "there is a default process group already");
  }
  if (options.backend.empty()) throw EscapedPythonError("ValueError", "a backend must have a name");
  const auto& environment = ports_.processes.environment();
  LaunchEnvironment launch = read_launch_environment(environment);
  const bool agent_serves = launch.elastic && launch.elastic->use_agent_store;
  std::unique_ptr<TcpStoreServer> server;
  if (!agent_serves && launch.rank == 0) {
    server = serve_tcp_store(ports_, launch.master.port, "workers", options.planted);
  }
  TcpStoreOptions target;
  target.endpoint = launch.master;
  target.variant = options.variant;
  target.reply_limit = options.reply_limit;
  std::shared_ptr<Store> store = connect_tcp_store(ports_, target, options.planted);
  if (options.around) store = options.around(launch, std::move(store));
  HOOKE_CHECK(store != nullptr, "what is put around a store is a store");
  if (agent_serves &&
      (options.restart_count_prefix || prefixes_keys_with_the_restart_count(options.variant))) {
    store = make_prefix_store("/worker/attempt_" + std::to_string(launch.elastic->restart_count),
                              store);
  }
  store_ = make_prefix_store("process_group", store);
  HOOKE_CHECK(store_ != nullptr && server_ == nullptr, "a group that comes about has a store");
  server_ = std::move(server);
  launch_ = std::move(launch);
  HOOKE_CHECK(server_ == nullptr || launch_.rank == 0, "only the first worker serves the others");
  backend_ = options.backend;
  std::transform(backend_.begin(), backend_.end(), backend_.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

void ProcessGroup::require() const {
  if (is_initialized()) return;
  throw EscapedPythonError("ValueError",
                           "there is no default process group: init() comes first, and nothing "
                           "comes after destroy()");
}

std::int64_t ProcessGroup::rank() const {
  require();
  HOOKE_CHECK(0 <= launch_.rank && launch_.rank < launch_.world_size, "a rank is below the size");
  return launch_.rank;
}

std::int64_t ProcessGroup::world_size() const {
  require();
  HOOKE_CHECK(launch_.world_size > 0, "a group has the worker that asks");
  return launch_.world_size;
}

const std::string& ProcessGroup::backend() const {
  require();
  HOOKE_CHECK(!backend_.empty(), "a group has a backend");
  return backend_;
}

const LaunchEnvironment& ProcessGroup::launch() const {
  require();
  return launch_;
}

std::shared_ptr<Store> ProcessGroup::store() const {
  require();
  return store_;
}

void ProcessGroup::destroy() {
  HOOKE_CHECK(server_ == nullptr || store_ != nullptr, "a worker that serves is in the group");
  store_ = nullptr;
  server_ = nullptr;
}

}  // namespace hooke::model
