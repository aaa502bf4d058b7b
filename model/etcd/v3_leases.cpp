// Leases by number, and the one of each key.
#include "model/etcd/v3_leases.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

const EtcdV3Lease* EtcdV3Leases::find(std::int64_t id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

const EtcdV3Lease& EtcdV3Leases::grant(std::int64_t id, std::int64_t ttl, sim::MonotonicTime now) {
  HOOKE_CHECK(ttl <= kTtlMax, "no lease lasts longer than etcd allows");
  HOOKE_CHECK(id != 0 && !leases_.contains(id), "a lease that is granted is a new one");
  EtcdV3Lease& lease = leases_[id];
  lease.ttl = std::max(ttl, kTtlMin);
  renew(id, now);
  HOOKE_CHECK(lease.expires > now, "a lease that is granted lasts");
  return lease;
}

bool EtcdV3Leases::renew(std::int64_t id, sim::MonotonicTime now) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return false;
  found->second.expires = now + std::chrono::seconds(found->second.ttl);
  HOOKE_CHECK(found->second.ttl >= kTtlMin, "a lease lasts the least time at least");
  return true;
}

std::set<std::string> EtcdV3Leases::revoke(std::int64_t id) {
  HOOKE_CHECK(leases_.contains(id), "a lease that is revoked is there");
  std::set<std::string> keys = std::move(leases_.extract(id).mapped().keys);
  HOOKE_CHECK(std::all_of(keys.begin(), keys.end(),
                          [&](const std::string& key) { return lease_of_.contains(key); }),
              "a key of a lease knows its lease");
  for (const std::string& key : keys) lease_of_.erase(key);
  return keys;
}

void EtcdV3Leases::attach(const std::string& key, std::int64_t lease) {
  if (const auto before = lease_of_.extract(key)) {
    const std::size_t detached = leases_.at(before.mapped()).keys.erase(key);
    HOOKE_CHECK(detached == 1, "a lease knows the keys that are its own");
  }
  if (lease == 0) return;
  HOOKE_CHECK(leases_.contains(lease), "a key is attached to a lease that is there");
  leases_.at(lease).keys.insert(key);
  lease_of_[key] = lease;
  HOOKE_CHECK(leases_.at(lease).keys.size() <= lease_of_.size(), "a key has one lease");
}

std::optional<sim::MonotonicTime> EtcdV3Leases::next_expiry() const {
  std::optional<sim::MonotonicTime> out;
  for (const auto& [id, lease] : leases_) {
    if (!out || lease.expires < *out) out = lease.expires;
  }
  return out;
}

std::vector<std::int64_t> EtcdV3Leases::expired(sim::MonotonicTime now) const {
  std::vector<std::pair<sim::MonotonicTime, std::int64_t>> over;
  for (const auto& [id, lease] : leases_) {
    if (lease.expires <= now) over.emplace_back(lease.expires, id);
  }
  std::sort(over.begin(), over.end());
  std::vector<std::int64_t> out;
  for (const auto& [when, id] : over) out.push_back(id);
  return out;
}

}  // namespace hooke::model
