#pragma once
// What reads and writes of etcd's v3 API do (server/etcdserver/apply.go, api/v3rpc/key.go): checks
// first, as etcd orders them, then the keys and their leases.

#include <cstdint>

#include "model/etcd/v3_keys.h"
#include "model/etcd/v3_leases.h"
#include "model/etcd/v3_messages.h"

namespace hooke::model {

class EtcdV3Operations {
 public:
  /// Operations in one transaction, at each level what is left of it.
  static constexpr std::size_t kTxnOperationsMax = 128;

  EtcdV3Operations(EtcdV3Keys& keys, EtcdV3Leases& leases) : keys_(keys), leases_(leases) {}

  // Answers, the revision in their header. EtcdV3Refusal, and then nothing has changed. Nothing is
  // committed here.
  EtcdV3Json range(const EtcdV3RangeRequest& request);
  EtcdV3Json put(const EtcdV3PutRequest& request);
  EtcdV3Json remove(const EtcdV3DeleteRequest& request);
  EtcdV3Json transact(const EtcdV3TxnRequest& request);

  /// Ends a lease and removes its keys.
  void revoke(std::int64_t lease);

 private:
  struct Branch;
  [[nodiscard]] Branch branch_of(const EtcdV3TxnRequest& request) const;
  [[nodiscard]] bool holds(const EtcdV3Compare& compare) const;
  void check_puts(const Branch& branch) const;
  void check_ranges(const Branch& branch) const;
  void check_revision(std::int64_t revision) const;
  void check_lease(std::int64_t lease) const;
  EtcdV3Json apply(const Branch& branch);
  EtcdV3Json apply_range(const EtcdV3RangeRequest& request);
  EtcdV3Json apply_put(const EtcdV3PutRequest& request);
  EtcdV3Json apply_remove(const EtcdV3DeleteRequest& request);

  EtcdV3Keys& keys_;
  EtcdV3Leases& leases_;
};

}  // namespace hooke::model
