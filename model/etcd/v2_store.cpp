// Every operation as EtcdStore spells it in requests.
#include "model/etcd/v2_store.h"

#include <algorithm>
#include <utility>

#include "model/store/decimal.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pause before a lost compare-and-swap is tried again (etcd_rendezvous.py:cas_delay).
constexpr sim::Duration kCasDelayMax = 100ms;

[[noreturn]] void refuse(const char* operation) {
  throw EscapedPythonError("RuntimeError",
                           std::string("the etcd store does not implement ") + operation);
}

}  // namespace

EtcdV2Store::EtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                         std::string prefix)
    : ports_(ports), client_(std::move(client)), prefix_(std::move(prefix)) {
  HOOKE_CHECK(client_ != nullptr, "a store in etcd has a client");
  if (!prefix_.ends_with('/')) prefix_ += '/';
}

void EtcdV2Store::set(const std::string& key, Value value) {
  guarded([&] { put(key, value); });
}

Value EtcdV2Store::get(const std::string& key) {
  return guarded([&] { return base64_decode(Value(await({key}, timeout_).at(path_of(key)))); });
}

std::int64_t EtcdV2Store::add(const std::string& key, std::int64_t delta) {
  return guarded([&] { return count(path_of(key), delta); });
}

void EtcdV2Store::wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) {
  guarded([&] { await(keys, timeout.value_or(timeout_)); });
}

bool EtcdV2Store::check(const std::vector<std::string>& keys) {
  std::optional<std::uint64_t> index;
  return guarded([&] { return present(keys, index).size() == keys.size(); });
}

Value EtcdV2Store::compare_set(const std::string&, const Value&, const Value&) {
  refuse("compareSet");
}
void EtcdV2Store::append(const std::string&, Value) {
  refuse("append");
}
bool EtcdV2Store::delete_key(const std::string&) {
  refuse("deleteKey");
}
std::int64_t EtcdV2Store::num_keys() {
  refuse("getNumKeys");
}

std::string EtcdV2Store::path_of(const std::string& key) const {
  HOOKE_CHECK(prefix_.ends_with('/'), "the keys of a store lie in its directory");
  return prefix_ + base64_encode(Value(key)).bytes();
}

void EtcdV2Store::put(const std::string& key, const Value& value) {
  client_->put(path_of(key), {.value = base64_encode(value).bytes()});
}

EtcdV2Store::Found EtcdV2Store::present(const std::vector<std::string>& keys,
                                        std::optional<std::uint64_t>& index) {
  Found found;
  try {
    const EtcdV2Answer answer = client_->get(directory());
    index = answer.index;
    for (const std::string& key : keys) {
      const std::string path = path_of(key);
      const auto node = std::find_if(answer.below().begin(), answer.below().end(),
                                     [&](const EtcdV2Node& one) { return one.key == path; });
      if (node != answer.below().end()) found.emplace(path, node->value);
    }
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;
  }
  return found;
}

EtcdV2Store::Found EtcdV2Store::await(const std::vector<std::string>& keys, sim::Duration timeout) {
  const sim::WallTime deadline = ports_.clock.wall_now() + timeout;
  for (;;) {
    std::optional<std::uint64_t> index;
    Found found = present(keys, index);
    HOOKE_CHECK(found.size() <= keys.size(), "only what is waited for is found");
    // A key that is waited for twice is found once.
    if (found.size() == keys.size()) return found;
    const sim::Duration left = deadline - ports_.clock.wall_now();
    const bool is_over = left <= sim::Duration::zero() ||
                         (!watch(index, left) && ports_.clock.wall_now() >= deadline);
    if (is_over) throw EscapedPythonError("LookupError", "not all keys came in time");
  }
}

/// Without an index it waits for what comes next: a change since the listing is missed (S-L15).
bool EtcdV2Store::watch(std::optional<std::uint64_t> index, sim::Duration timeout) {
  HOOKE_CHECK(timeout > sim::Duration::zero(), "a change is waited for for a while");
  if (index) ++*index;
  try {
    return client_->watch(directory(), index, ports_.clock.monotonic_now() + timeout).has_value();
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kIndexCleared) throw;
    return true;
  }
}

void EtcdV2Store::pause() {
  ports_.executor.sleep_until(
      ports_.clock.monotonic_now() +
      ports_.random.between("etcd.cas_delay", sim::Duration::zero(), kCasDelayMax));
}

std::int64_t EtcdV2Store::count(const std::string& path, std::int64_t delta) {
  for (;;) {
    try {
      const std::string first = base64_encode(Value(std::to_string(delta))).bytes();
      client_->put(path, {.value = first, .previous_exists = false});
      return delta;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kExists) throw;
    }
    try {
      const EtcdV2Node present = client_->get(path).node;
      const std::int64_t sum = wrapping_sum(number_in(present.value), delta);
      client_->put(path, {.value = base64_encode(Value(std::to_string(sum))).bytes(),
                          .previous_value = present.value});
      return sum;
    } catch (const EtcdError& error) {
      if (error.code() != EtcdV2Client::kCompareFailed &&
          error.code() != EtcdV2Client::kKeyNotFound) {
        throw;
      }
    }
    pause();
  }
}

std::int64_t EtcdV2Store::number_in(const std::string& encoded) {
  const Value text = base64_decode(Value(encoded));
  const auto number = leading_number(text.bytes());
  if (!number) {
    throw EscapedPythonError("ValueError", "\"" + text.bytes() + "\" is no number to add to");
  }
  return *number;
}

std::shared_ptr<Store> make_etcd_v2_store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                          const std::string& prefix) {
  return std::make_shared<EtcdV2Store>(ports, std::move(client), prefix);
}

}  // namespace hooke::model
