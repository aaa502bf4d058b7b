#pragma once
// The messages of etcd's v3 API as its gateway reads and writes them: protobuf's JSON mapping, in
// which bytes are Base64, 64-bit numbers are texts, and what is zero is left out.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "model/etcd/v3_keys.h"

namespace hooke::model {

using EtcdV3Json = nlohmann::ordered_json;

/// What etcd refuses.
struct EtcdV3Refusal {
  static constexpr int kUnknown = 2;
  static constexpr int kInvalidArgument = 3;
  static constexpr int kNotFound = 5;
  static constexpr int kFailedPrecondition = 9;
  static constexpr int kOutOfRange = 11;
  static constexpr int kUnavailable = 14;

  int code;  ///< gRPC status
  std::string message;

  /// The HTTP status that the gateway makes of the code.
  [[nodiscard]] int http_status() const;
  [[nodiscard]] std::string body() const;
};

struct EtcdV3RangeRequest {
  enum Order : std::int64_t { none, ascend, descend };
  enum Target : std::int64_t { key_order, version, create, mod, value };
  std::string key, range_end;
  std::int64_t limit = 0, revision = 0;
  std::int64_t sort_order = none, sort_target = key_order;
  bool serializable = false, keys_only = false, count_only = false;
  std::int64_t min_mod_revision = 0, max_mod_revision = 0;
  std::int64_t min_create_revision = 0, max_create_revision = 0;
};
struct EtcdV3PutRequest {
  std::string key;
  sim::Value value;
  std::int64_t lease = 0;
  bool prev_kv = false, ignore_value = false, ignore_lease = false;
};
struct EtcdV3DeleteRequest {
  std::string key, range_end;
  bool prev_kv = false;
};
struct EtcdV3Compare {
  enum Result : std::int64_t { equal, greater, less, not_equal };
  enum Target : std::int64_t { version, create, mod, value, lease };
  std::int64_t result = equal, target = version;
  std::string key, range_end;
  std::int64_t number = 0;  ///< of the field that belongs to the target
  sim::Value bytes;         ///< with the target value
};
struct EtcdV3Operation;
struct EtcdV3TxnRequest {
  std::vector<EtcdV3Compare> compare;
  std::vector<EtcdV3Operation> success, failure;
};
/// Nothing stands for an operation that is none of those that there are.
struct EtcdV3Operation {
  std::variant<std::monostate, EtcdV3RangeRequest, EtcdV3PutRequest, EtcdV3DeleteRequest,
               EtcdV3TxnRequest>
      what;
};
struct EtcdV3LeaseRequest {  ///< of all kinds
  std::int64_t id = 0, ttl = 0;
  bool keys = false;
};
/// One message of a watch stream: exactly one of its parts.
struct EtcdV3WatchRequest {
  enum class Kind : unsigned char { none, create, cancel, progress };
  Kind kind = Kind::none;
  std::string key, range_end;
  std::int64_t start_revision = 0, watch_id = 0;
  bool prev_kv = false, no_put = false, no_delete = false;
};

// A request's body, or of a stream the values that follow one another. EtcdV3Refusal where it is no
// such message; what it says of broken JSON are words of its own.

EtcdV3RangeRequest read_etcd_range(const std::string& body);
EtcdV3PutRequest read_etcd_put(const std::string& body);
EtcdV3DeleteRequest read_etcd_delete(const std::string& body);
/// At most kEtcdTxnDepth transactions in one another; etcd counts operations instead.
inline constexpr int kEtcdTxnDepth = 8;
EtcdV3TxnRequest read_etcd_txn(const std::string& body);
/// The revision.
std::int64_t read_etcd_compaction(const std::string& body);
EtcdV3LeaseRequest read_etcd_lease(const std::string& body);
std::vector<EtcdV3LeaseRequest> read_etcd_leases(const std::string& body);
std::vector<EtcdV3WatchRequest> read_etcd_watches(const std::string& body);

/// Left out when zero.
void put_number(EtcdV3Json& message, const char* name, std::int64_t number);
std::string etcd_base64(const std::string& bytes);
EtcdV3Json json_of(const EtcdV3KeyValue& entry);
/// `revision` 0: left out.
EtcdV3Json etcd_header(std::int64_t revision);

}  // namespace hooke::model
