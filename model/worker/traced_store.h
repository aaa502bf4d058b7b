#pragma once
// A store whose requests are on the trace of the worker that makes them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Whose requests they are.
struct StoreUser {
  std::string run_id;
  std::int64_t rank = 0;
  /// See worker_store_events.h; asked at each request, never null.
  std::function<std::int64_t()> round, newest_round;
};

/// Does what `store` does. Each request is a worker.store_asked, and a worker.store_answered unless
/// the process ends before; errors of `store` are told and go on to the caller.
std::shared_ptr<Store> make_traced_store(sim::Ports& ports, StoreUser user,
                                         std::shared_ptr<Store> store);

}  // namespace hooke::model
