#pragma once
// Synchronisation over a store (torch/distributed/elastic/utils/store.py), 2.x and 1.13. Keys are
// never deleted: a prefix is good for one use.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/store/store.h"

namespace hooke::model {

/// Sets the store's timeout; restores it only when restore() is reached, so not when an error
/// passes (S-30).
class StoreTimeoutScope {
 public:
  StoreTimeoutScope(Store& store, sim::Duration timeout) : store_(store), before_(store.timeout()) {
    store.set_timeout(timeout);
  }
  void restore() { store_.set_timeout(before_); }

 private:
  Store& store_;
  sim::Duration before_;
};

/// 2.x: reads `<prefix>0 … <prefix>n-1`, then counts the arrivals; rank 0 waits for the last one
/// because it may host the server.
std::vector<Value> get_all(Store& store, std::int64_t rank, const std::string& prefix,
                           std::int64_t world_size);

/// 2.x: publishes `data` and returns that of all, by rank.
std::vector<Value> synchronize(Store& store, Value data, std::int64_t rank, std::int64_t world_size,
                               const std::string& prefix, sim::Duration timeout);

/// The rank that asks, for finding out which ranks stayed away from a barrier.
struct BarrierTracing {
  std::int64_t rank = 0;
  /// What a rank is called in the error; empty: its decimal number.
  std::function<std::string(std::int64_t)> name_of;
  /// How long rank 0 waits for a trace of each other rank, until one is missing; 1 ms from then on.
  sim::Duration timeout = std::chrono::seconds(10);
};

/// 2.x: counts arrivals under `prefix` and waits for the last; O(1) per node. Counts arrivals, not
/// identities. StoreTimeoutError when the last one does not come: with `tracing` one that names the
/// missing ranks (the first 16) at rank 0 and points to rank 0 elsewhere, which may take another
/// `timeout`.
void barrier(Store& store, std::int64_t world_size, const std::string& prefix,
             sim::Duration timeout, const std::optional<BarrierTracing>& tracing = std::nullopt);

/// The prefix under which agents meet when their work is done (api.py:_TERMINAL_STATE_SYNC_ID).
inline constexpr char kTerminalState[] = "torchelastic/agent/terminal_state";

/// The key under which a barrier counts the ranks that came.
std::string barrier_count(const std::string& prefix);
/// The key of the sign by which a barrier is open.
std::string barrier_sign(const std::string& prefix);
/// Opens it.
void give_barrier_sign(Store& store, const std::string& prefix);
/// The first half of `barrier`: counts one arrival, and the last one gives the sign. Returns its
/// key.
std::string arrive(Store& store, std::int64_t world_size, const std::string& prefix);

/// 1.13: the same by n single reads per node; the store's timeout stays changed.
std::vector<Value> synchronize_1_13(Store& store, Value data, std::int64_t rank,
                                    std::int64_t world_size, const std::string& prefix,
                                    sim::Duration timeout);
void barrier_1_13(Store& store, std::int64_t rank, std::int64_t world_size,
                  const std::string& prefix, sim::Duration timeout);

}  // namespace hooke::model
