// Both generations of the helpers.
#include "model/store/store_helpers.h"

namespace hooke::model {
namespace {

std::vector<std::string> numbered(const std::string& prefix, std::int64_t count) {
  std::vector<std::string> keys;
  keys.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

/// Counts one arrival; the last one leaves a sign. Returns the key of the sign.
std::string arrive(Store& store, std::int64_t world_size, const std::string& prefix) {
  const std::string sign = prefix + "/last_member";
  if (store.add(prefix + "/num_members", 1) == world_size) store.set(sign, Value("<val_ignored>"));
  return sign;
}

}  // namespace

std::vector<Value> get_all(Store& store, std::int64_t rank, const std::string& prefix,
                           std::int64_t world_size) {
  std::vector<Value> values = store.multi_get(numbered(prefix, world_size));
  const std::string sign = arrive(store, world_size, prefix + "/finished");
  if (rank == 0) store.wait({sign});
  return values;
}

std::vector<Value> synchronize(Store& store, Value data, std::int64_t rank, std::int64_t world_size,
                               const std::string& prefix, sim::Duration timeout) {
  StoreTimeoutScope scope(store, timeout);
  store.set(prefix + std::to_string(rank), std::move(data));
  std::vector<Value> values = get_all(store, rank, prefix, world_size);
  scope.restore();
  return values;
}

void barrier(Store& store, std::int64_t world_size, const std::string& prefix,
             sim::Duration timeout) {
  StoreTimeoutScope scope(store, timeout);
  store.wait({arrive(store, world_size, prefix)});
  scope.restore();
}

std::vector<Value> synchronize_1_13(Store& store, Value data, std::int64_t rank,
                                    std::int64_t world_size, const std::string& prefix,
                                    sim::Duration timeout) {
  store.set_timeout(timeout);
  const std::string mine = prefix + std::to_string(rank);
  store.set(mine, std::move(data));
  std::vector<Value> values;
  for (const std::string& key : numbered(prefix, world_size)) values.push_back(store.get(key));
  store.set(mine + ".FIN", Value("FIN"));
  if (rank == 0) {
    for (const std::string& key : numbered(prefix, world_size))
      static_cast<void>(store.get(key + ".FIN"));
  }
  return values;
}

void barrier_1_13(Store& store, std::int64_t rank, std::int64_t world_size,
                  const std::string& prefix, sim::Duration timeout) {
  static_cast<void>(
      synchronize_1_13(store, Value(std::to_string(rank)), rank, world_size, prefix, timeout));
}

}  // namespace hooke::model
