#pragma once
// The problem: each change of a rendezvous is a transaction, which a simulated client would write as
// JSON with the state as Base64 in it, and a simulated server read. Here a transaction and its answer
// are values: their text, whose length is known, is made where it goes over a real network.

#include <cstdint>
#include <optional>
#include <string>

#include "model/etcd/v3_keys.h"
#include "model/etcd/v3_messages.h"
#include "sim/port/buffer.h"

namespace hooke::model {

/// What stands under a key.
struct EtcdV3Entry {
  sim::Value value;
  std::int64_t revision = 0;  ///< of its last change; 0: the key is not there
  [[nodiscard]] bool exists() const { return revision != 0; }
};

/// Puts a value under a key if that was last changed at a revision, and reads the key otherwise. Its
/// bytes are the body of a request to /v3/kv/txn.
class EtcdV3Transaction final : public sim::Payload {
 public:
  /// `revision` 0: if it is not there. `there`: and if that stands there. `lease` 0: none.
  struct Put {
    std::string key;
    sim::Value value;
    std::int64_t lease = 0, revision = 0;
    std::optional<sim::Value> there{};
  };
  explicit EtcdV3Transaction(const Put& put);
  /// A put that never happens: what the members of a cluster agree on is read.
  static Put reading(const std::string& key);

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] const std::string& bytes() const override;
  /// What a server reads in the bytes.
  [[nodiscard]] const EtcdV3TxnRequest& request() const { return request_; }
  [[nodiscard]] const std::string& key() const { return request_.compare.front().key; }
  [[nodiscard]] bool only_reads() const;

 private:
  [[nodiscard]] const EtcdV3PutRequest& put() const;
  /// The text, part by part: to anything that takes a std::string_view and a sim::Value.
  template <class Take>
  void compose(Take take) const;

  EtcdV3TxnRequest request_;
  sim::Value name_, value_, there_;  ///< in Base64
  std::size_t size_ = 0;
  mutable std::string bytes_;
};

/// What the answer says (StoredText::kAsEtcdTransaction).
struct EtcdV3TransactionAnswer {
  bool succeeded = false;
  std::int64_t revision = 0;  ///< of the whole store, with the change
  EtcdV3Entry entry{};        ///< what stands there, where it has not succeeded
};

/// The text of `answer` to `asked`, which has just been carried out on `keys`; it carries what it says.
sim::Value told_with(const EtcdV3Json& answer, const EtcdV3Transaction& asked,
                     const EtcdV3Keys& keys);

}  // namespace hooke::model
