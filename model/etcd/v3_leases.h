#pragma once
// etcd's leases: each ends a time after its last renewal, and the keys attached to it with it
// (server/lease).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/port/time.h"

namespace hooke::model {

struct EtcdV3Lease {
  std::int64_t ttl = 0;  ///< granted, in seconds
  sim::MonotonicTime expires;
  std::set<std::string> keys;
};

class EtcdV3Leases {
 public:
  /// No lease is shorter (with etcd's usual election time-out of 1 s).
  static constexpr std::int64_t kTtlMin = 2;
  static constexpr std::int64_t kTtlMax = 9'000'000'000;

  [[nodiscard]] bool contains(std::int64_t id) const { return leases_.contains(id); }
  [[nodiscard]] const EtcdV3Lease* find(std::int64_t id) const;
  [[nodiscard]] const std::map<std::int64_t, EtcdV3Lease>& all() const { return leases_; }

  /// Begins a lease of `ttl` seconds, or of kTtlMin where that is less; the id must be free.
  const EtcdV3Lease& grant(std::int64_t id, std::int64_t ttl, sim::MonotonicTime now);
  /// False when there is no such lease.
  bool renew(std::int64_t id, sim::MonotonicTime now);
  /// Ends a lease, which must be there; returns its keys.
  std::set<std::string> revoke(std::int64_t id);

  /// `key` hangs on `lease` (0: on none) from now on.
  void attach(const std::string& key, std::int64_t lease);

  [[nodiscard]] std::optional<sim::MonotonicTime> next_expiry() const;
  /// Those that are over, in the order of their ends.
  [[nodiscard]] std::vector<std::int64_t> expired(sim::MonotonicTime now) const;

 private:
  std::map<std::int64_t, EtcdV3Lease> leases_;
  std::map<std::string, std::int64_t> lease_of_;
};

}  // namespace hooke::model
