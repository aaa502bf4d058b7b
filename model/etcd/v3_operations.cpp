// What can be told from a request alone, then what depends on the keys, then the deed.
#include "model/etcd/v3_operations.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "sim/port/check.h"

namespace hooke::model {

using Json = EtcdV3Json;

namespace {

using Refusal = EtcdV3Refusal;

[[noreturn]] void refuse(const char* why) {
  throw Refusal{Refusal::kInvalidArgument, std::string("etcdserver: ") + why};
}

// ---- of a request alone -------------------------------------------------------------------------

void check_key(const std::string& key) {
  if (key.empty()) refuse("key is not provided");
}

void check(const EtcdV3PutRequest& request) {
  check_key(request.key);
  if (request.ignore_value && !request.value.empty()) refuse("value is provided");
  if (request.ignore_lease && request.lease != 0) refuse("lease is provided");
}

void check(const EtcdV3TxnRequest& request, std::size_t operations_max) {
  const std::size_t most =
      std::max({request.compare.size(), request.success.size(), request.failure.size()});
  if (most > operations_max) refuse("too many operations in txn request");
  for (const EtcdV3Compare& compare : request.compare) check_key(compare.key);
  for (const auto* operations : {&request.success, &request.failure}) {
    for (const EtcdV3Operation& operation : *operations) {
      if (const auto* range = std::get_if<EtcdV3RangeRequest>(&operation.what)) {
        check_key(range->key);
      } else if (const auto* put = std::get_if<EtcdV3PutRequest>(&operation.what)) {
        check(*put);
      } else if (const auto* gone = std::get_if<EtcdV3DeleteRequest>(&operation.what)) {
        check_key(gone->key);
      } else if (const auto* txn = std::get_if<EtcdV3TxnRequest>(&operation.what)) {
        check(*txn, operations_max - most);
      } else {
        refuse("key not found");
      }
    }
  }
}

/// What a branch of a transaction writes.
struct Written {
  std::set<std::string> puts;
  std::vector<const EtcdV3DeleteRequest*> removals;

  [[nodiscard]] bool removed(const std::string& key) const {
    return std::any_of(removals.begin(), removals.end(), [&](const EtcdV3DeleteRequest* gone) {
      if (gone->range_end.empty()) return key == gone->key;
      return key >= gone->key && key < gone->range_end;
    });
  }
};

/// No key may be written twice; two branches of one transaction count once.
Written check_keys_written(const std::vector<EtcdV3Operation>& operations) {
  Written out;
  for (const EtcdV3Operation& operation : operations) {
    const auto* const gone = std::get_if<EtcdV3DeleteRequest>(&operation.what);
    if (gone != nullptr) out.removals.push_back(gone);
  }
  const auto add = [&](const std::string& key) {
    if (out.removed(key) || !out.puts.insert(key).second) {
      refuse("duplicate key given in txn request");
    }
  };
  for (const EtcdV3Operation& operation : operations) {
    const auto* const txn = std::get_if<EtcdV3TxnRequest>(&operation.what);
    if (txn == nullptr) continue;
    const Written then = check_keys_written(txn->success);
    const Written otherwise = check_keys_written(txn->failure);
    for (const std::string& key : then.puts) add(key);
    for (const std::string& key : otherwise.puts) {
      if (!then.puts.contains(key)) add(key);
    }
    for (const Written* branch : {&then, &otherwise}) {
      out.removals.insert(out.removals.end(), branch->removals.begin(), branch->removals.end());
    }
  }
  for (const EtcdV3Operation& operation : operations) {
    const auto* const put = std::get_if<EtcdV3PutRequest>(&operation.what);
    if (put != nullptr) add(put->key);
  }
  return out;
}

bool compares(std::int64_t result, int order) {
  switch (result) {
    case EtcdV3Compare::equal: return order == 0;
    case EtcdV3Compare::greater: return order > 0;
    case EtcdV3Compare::less: return order < 0;
    case EtcdV3Compare::not_equal: return order != 0;
    default: return true;
  }
}

int order_of(std::int64_t a, std::int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

bool holds_for(const EtcdV3Compare& compare, const EtcdV3KeyValue& entry) {
  const auto is = [&](std::int64_t number) {
    return compares(compare.result, order_of(number, compare.number));
  };
  switch (compare.target) {
    case EtcdV3Compare::version: return is(entry.version);
    case EtcdV3Compare::create: return is(entry.create_revision);
    case EtcdV3Compare::mod: return is(entry.mod_revision);
    case EtcdV3Compare::value:
      if (compare.result == EtcdV3Compare::equal) return entry.value == compare.bytes;
      return compares(compare.result, entry.value.bytes().compare(compare.bytes.bytes()));
    case EtcdV3Compare::lease: return is(entry.lease);
    default: return compares(compare.result, 0);
  }
}

void sort(std::vector<EtcdV3KeyValue>& entries, const EtcdV3RangeRequest& request) {
  using Request = EtcdV3RangeRequest;
  if (request.sort_target == Request::key_order && request.sort_order == Request::none) return;
  const auto before = [&](const EtcdV3KeyValue& a, const EtcdV3KeyValue& b) {
    switch (request.sort_target) {
      case Request::version: return a.version < b.version;
      case Request::create: return a.create_revision < b.create_revision;
      case Request::mod: return a.mod_revision < b.mod_revision;
      case Request::value: return a.value.bytes() < b.value.bytes();
      default: return a.key < b.key;
    }
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
    return request.sort_order == Request::descend ? before(b, a) : before(a, b);
  });
}

Json with_revision(std::int64_t revision) {
  Json out;
  put_number(out["header"], "revision", revision);
  return out;
}

}  // namespace

// ---- of the keys as they are --------------------------------------------------------------------

void EtcdV3Operations::check_revision(std::int64_t revision) const {
  if (revision > keys_.seen_revision()) {
    throw Refusal{Refusal::kOutOfRange, "etcdserver: mvcc: required revision is a future revision"};
  }
  if (revision > 0 && revision < keys_.compacted()) {
    throw Refusal{Refusal::kOutOfRange, "etcdserver: mvcc: required revision has been compacted"};
  }
}

void EtcdV3Operations::check_lease(std::int64_t lease) const {
  if (lease == 0 || leases_.contains(lease)) return;
  throw Refusal{Refusal::kNotFound, "etcdserver: requested lease not found"};
}

/// The side of a transaction that is taken, and those of the transactions in it.
struct EtcdV3Operations::Branch {
  bool succeeded = true;
  const std::vector<EtcdV3Operation>& operations;
  std::vector<Branch> nested;  ///< of the transactions among the operations, in order
};

bool EtcdV3Operations::holds(const EtcdV3Compare& compare) const {
  const auto entries = keys_.range(EtcdV3Range::of(compare.key, compare.range_end));
  if (entries.empty()) {
    // No value can be told apart from an empty one.
    return compare.target != EtcdV3Compare::value && holds_for(compare, {});
  }
  return std::all_of(entries.begin(), entries.end(),
                     [&](const EtcdV3KeyValue& entry) { return holds_for(compare, entry); });
}

EtcdV3Operations::Branch EtcdV3Operations::branch_of(const EtcdV3TxnRequest& request) const {
  const bool succeeded = std::all_of(request.compare.begin(), request.compare.end(),
                                     [&](const EtcdV3Compare& compare) { return holds(compare); });
  Branch branch{succeeded, succeeded ? request.success : request.failure, {}};
  for (const EtcdV3Operation& operation : branch.operations) {
    const auto* const txn = std::get_if<EtcdV3TxnRequest>(&operation.what);
    if (txn != nullptr) branch.nested.push_back(branch_of(*txn));
  }
  return branch;
}

void EtcdV3Operations::check_puts(const Branch& branch) const {
  auto nested = branch.nested.begin();
  for (const EtcdV3Operation& operation : branch.operations) {
    if (std::holds_alternative<EtcdV3TxnRequest>(operation.what)) check_puts(*nested++);
    const auto* const put = std::get_if<EtcdV3PutRequest>(&operation.what);
    if (put == nullptr) continue;
    if ((put->ignore_value || put->ignore_lease) && !keys_.find(put->key)) refuse("key not found");
    check_lease(put->lease);
  }
  HOOKE_CHECK(nested == branch.nested.end(), "each nested transaction is looked at once");
}

void EtcdV3Operations::check_ranges(const Branch& branch) const {
  auto nested = branch.nested.begin();
  for (const EtcdV3Operation& operation : branch.operations) {
    if (std::holds_alternative<EtcdV3TxnRequest>(operation.what)) check_ranges(*nested++);
    const auto* const range = std::get_if<EtcdV3RangeRequest>(&operation.what);
    if (range != nullptr) check_revision(range->revision);
  }
  HOOKE_CHECK(nested == branch.nested.end(), "each nested transaction is looked at once");
}

// ---- the deed -----------------------------------------------------------------------------------

Json EtcdV3Operations::range(const EtcdV3RangeRequest& request) {
  check_key(request.key);
  check_revision(request.revision);
  return apply_range(request);
}

Json EtcdV3Operations::put(const EtcdV3PutRequest& request) {
  check(request);
  check_lease(request.lease);
  if ((request.ignore_value || request.ignore_lease) && !keys_.find(request.key)) {
    refuse("key not found");
  }
  return apply_put(request);
}

Json EtcdV3Operations::remove(const EtcdV3DeleteRequest& request) {
  check_key(request.key);
  return apply_remove(request);
}

Json EtcdV3Operations::transact(const EtcdV3TxnRequest& request) {
  check(request, kTxnOperationsMax);
  check_keys_written(request.success);
  check_keys_written(request.failure);
  const Branch branch = branch_of(request);
  check_puts(branch);
  check_ranges(branch);
  Json answer = apply(branch);
  put_number(answer["header"], "revision", keys_.seen_revision());
  return answer;
}

Json EtcdV3Operations::apply(const Branch& branch) {
  Json answer{{"header", Json::object()}};
  if (branch.succeeded) answer["succeeded"] = true;
  Json responses = Json::array();
  auto nested = branch.nested.begin();
  for (const EtcdV3Operation& operation : branch.operations) {
    if (const auto* range = std::get_if<EtcdV3RangeRequest>(&operation.what)) {
      responses.push_back({{"response_range", apply_range(*range)}});
    } else if (const auto* put = std::get_if<EtcdV3PutRequest>(&operation.what)) {
      responses.push_back({{"response_put", apply_put(*put)}});
    } else if (const auto* gone = std::get_if<EtcdV3DeleteRequest>(&operation.what)) {
      responses.push_back({{"response_delete_range", apply_remove(*gone)}});
    } else {
      responses.push_back({{"response_txn", apply(*nested++)}});
    }
  }
  HOOKE_CHECK(responses.size() == branch.operations.size(), "each operation is answered");
  if (!responses.empty()) answer["responses"] = std::move(responses);
  HOOKE_CHECK(nested == branch.nested.end(), "each nested transaction is applied once");
  return answer;
}

Json EtcdV3Operations::apply_range(const EtcdV3RangeRequest& request) {
  auto entries = keys_.range(EtcdV3Range::of(request.key, request.range_end),
                             std::max<std::int64_t>(request.revision, 0));
  Json answer = with_revision(keys_.seen_revision());
  HOOKE_CHECK(!request.key.empty(), "a key that is read has a name");
  const auto count = static_cast<std::int64_t>(entries.size());
  HOOKE_CHECK(request.revision <= keys_.seen_revision(), "what is read is no future");
  if (!request.count_only) {
    const auto beyond = [](std::int64_t revision, std::int64_t min, std::int64_t max) {
      return (min != 0 && revision < min) || (max != 0 && revision > max);
    };
    std::erase_if(entries, [&](const EtcdV3KeyValue& entry) {
      return beyond(entry.mod_revision, request.min_mod_revision, request.max_mod_revision) ||
             beyond(entry.create_revision, request.min_create_revision,
                    request.max_create_revision);
    });
    sort(entries, request);
    const bool more = request.limit > 0 && std::ssize(entries) > request.limit;
    if (more) entries.resize(static_cast<std::size_t>(request.limit));
    for (EtcdV3KeyValue& entry : entries) {
      if (request.keys_only) entry.value = {};
      answer["kvs"].push_back(json_of(entry));
    }
    if (more) answer["more"] = true;
  }
  put_number(answer, "count", count);
  return answer;
}

Json EtcdV3Operations::apply_put(const EtcdV3PutRequest& request) {
  const auto present = keys_.find(request.key);
  // A transaction may have removed the key that it wants to keep parts of: etcd 3.4 crashes of
  // that, here they are empty.
  const EtcdV3KeyValue kept = present.value_or(EtcdV3KeyValue{});
  HOOKE_CHECK(!request.key.empty(), "a key that is put has a name");
  const std::int64_t lease = request.ignore_lease ? kept.lease : request.lease;
  keys_.put(request.key, request.ignore_value ? kept.value : request.value, lease);
  leases_.attach(request.key, lease);
  Json answer = with_revision(keys_.seen_revision());
  if (request.prev_kv && present) answer["prev_kv"] = json_of(*present);
  return answer;
}

Json EtcdV3Operations::apply_remove(const EtcdV3DeleteRequest& request) {
  HOOKE_CHECK(!request.key.empty(), "a key that is removed has a name");
  const auto gone = keys_.remove(EtcdV3Range::of(request.key, request.range_end));
  Json answer = with_revision(keys_.seen_revision());
  put_number(answer, "deleted", static_cast<std::int64_t>(gone.size()));
  for (const EtcdV3KeyValue& entry : gone) {
    leases_.attach(entry.key, 0);
    if (request.prev_kv) answer["prev_kvs"].push_back(json_of(entry));
  }
  return answer;
}

void EtcdV3Operations::revoke(std::int64_t lease) {
  HOOKE_CHECK(leases_.contains(lease), "a lease that is revoked is there");
  for (const std::string& key : leases_.revoke(lease)) {
    keys_.remove(EtcdV3Range::of(key, ""));
  }
}

}  // namespace hooke::model
