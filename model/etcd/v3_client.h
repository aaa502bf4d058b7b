#pragma once
// etcd's v3 API over its HTTP/JSON gateway: keys in one flat space, revisions as fences,
// transactions, leases and watches (etcd documentation, "Why gRPC gateway").

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/etcd/cluster.h"
#include "model/etcd/v3_transaction.h"
#include "sim/port/buffer.h"

namespace hooke::model {

/// What a read saw, and when.
struct EtcdV3Read {
  EtcdV3Entry entry;
  std::int64_t revision = 0;  ///< of the whole store at that moment
};

/// The end of a fenced write.
struct EtcdV3Write {
  bool written = false;
  /// It is not, but an attempt had no answer: it may have been written and replaced since.
  bool in_doubt = false;
  /// What stands there now: this write, or what was there instead.
  EtcdV3Entry present;
};

class EtcdV3Client {
 public:
  static constexpr int kNotFound = 5;
  static constexpr int kCompacted = 11;
  static constexpr int kUnavailable = 14;
  static constexpr int kUnauthenticated = 16;

  /// Authenticates when there is a user. EtcdConnectionError, EtcdError.
  EtcdV3Client(sim::Ports& ports, EtcdOptions options);
  /// From now on no answer is waited for longer than this.
  void set_read_timeout(sim::Duration timeout) {
    options_.read_timeout = std::min(options_.read_timeout, timeout);
  }

  // All throw EtcdError for what etcd refuses and EtcdConnectionError otherwise. A cluster without
  // a leader, or one that did not agree in time, is no refusal: what may be asked twice is asked
  // again until the read time-out, and the outcome of everything else is unknown.

  /// As of `revision`; 0: as it is now, also by a member that lags behind when it is asked by
  /// quorum. EtcdError kCompacted when that is forgotten.
  EtcdV3Read get(const std::string& key, std::int64_t revision = 0);
  /// All keys that begin with `prefix`, without it.
  std::map<std::string, sim::Value> list(const std::string& prefix);
  /// Writes whatever stands there. Writing the same again does no harm, so an unknown outcome is
  /// made a known one by a second attempt; a client that reads by quorum looks before.
  void put(const std::string& key, const sim::Value& value);
  /// Writes if the key was last changed at `revision` (0: if it is not there), and if `there`
  /// stands there, where that is given: an etcd that has lost its data may come to the same
  /// revision again with other bytes. `lease` 0: none. An
  /// unknown outcome is resolved by reading again behind the fence: the revision unchanged means
  /// not written, and the same attempt is safe to repeat; these very bytes at a later revision,
  /// whatever came after it, mean written. Where all that came after it cannot be read within the
  /// read time-out, it stays in doubt. EtcdConnectionError with an unknown outcome only where that
  /// cannot be told.
  EtcdV3Write put_if(const std::string& key, const sim::Value& value, std::int64_t revision,
                     std::int64_t lease = 0, const sim::Value* there = nullptr);
  /// The last entry that has stood at `key`, where there is `now`, after `revision`, and is
  /// `wanted`; nullopt: none, or none that was found by `deadline`. EtcdConnectionError with an
  /// unknown outcome when etcd has forgotten.
  template <class Wanted>
  std::optional<EtcdV3Entry> since(const std::string& key, std::int64_t revision, EtcdV3Entry now,
                                   Wanted wanted,
                                   sim::MonotonicTime deadline = sim::MonotonicTime::max()) {
    for (; now.exists() && now.revision > revision; now = before(key, now.revision)) {
      if (wanted(now.value)) return now;
      if (ports_.clock.monotonic_now() >= deadline) break;
    }
    return std::nullopt;
  }
  /// True if the key was there.
  bool remove(const std::string& key);

  /// A lease that ends `ttl` after its last renewal, and the keys attached to it with it.
  std::int64_t grant(sim::Duration ttl);
  /// False when the lease has ended.
  bool renew(std::int64_t lease);

  /// Blocks until `key` changes at or after `revision`, or until `deadline` (false). Returns also
  /// when etcd cannot tell any more (compaction): read again.
  bool watch(const std::string& key, std::int64_t revision, sim::MonotonicTime deadline);

 private:
  /// What stood there until `revision`. EtcdConnectionError when etcd has forgotten.
  EtcdV3Entry before(const std::string& key, std::int64_t revision);
  void authenticate();
  /// Posts `body`, a JSON text; returns the answer's. `repeatable`: may be asked twice.
  sim::Value post(const std::string& path, const std::string& body, bool repeatable) {
    return answer(request(path, body), repeatable);
  }
  [[nodiscard]] HttpRequest request(const std::string& path, const std::string& body) const;
  sim::Value answer(HttpRequest request, bool repeatable);
  /// `transaction`: a value of that type.
  EtcdV3TransactionAnswer answer_to(const sim::Value& transaction, bool repeatable);
  EtcdV3Write transact(const std::string& key, const sim::Value& value, std::int64_t revision,
                       std::int64_t lease, const sim::Value* there);
  /// A write that never happens, which only a quorum can tell.
  EtcdV3Read get_agreed(const std::string& key);

  sim::Ports& ports_;
  EtcdOptions options_;
  EtcdCluster cluster_;
  std::string token_;       ///< of the session, with authentication
  std::string agreed_key_;  ///< the last one that was read by get_agreed()
  sim::Value agreed_read_;  ///< and the transaction
};

}  // namespace hooke::model
