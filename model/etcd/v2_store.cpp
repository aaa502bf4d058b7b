// Every operation as EtcdStore spells it in requests.
#include "model/etcd/v2_store.h"

#include <algorithm>
#include <utility>

#include "model/observe/python_error.h"
#include "model/store/base64.h"
#include "model/store/decimal.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Pause before a lost compare-and-swap is tried again (etcd_rendezvous.py:cas_delay).
constexpr sim::Duration kCasDelayMax = 100ms;

[[noreturn]] void refuse(const char* operation) {
  throw EscapedPythonError("RuntimeError",
                           std::string("the etcd store does not implement ") + operation);
}

template <class Call>
auto as_python(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const EtcdError& error) {
    throw EscapedPythonError("EtcdException", error.what());
  } catch (const EtcdConnectionError& error) {
    throw EscapedPythonError("EtcdException", error.what());
  } catch (const Base64Error& error) {
    throw EscapedPythonError("binascii.Error", error.what());
  }
}

}  // namespace

EtcdV2Store::EtcdV2Store(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                         std::string prefix)
    : ports_(ports), client_(std::move(client)), prefix_(std::move(prefix)) {
  if (!prefix_.ends_with('/')) prefix_ += '/';
}

void EtcdV2Store::set(const std::string& key, Value value) {
  as_python([&] { put(key, value); });
}

Value EtcdV2Store::get(const std::string& key) {
  return as_python([&] { return await({key}, timeout_).at(key); });
}

std::int64_t EtcdV2Store::add(const std::string& key, std::int64_t delta) {
  return as_python([&] { return count(path_of(key), delta); });
}

void EtcdV2Store::wait(const std::vector<std::string>& keys, std::optional<sim::Duration> timeout) {
  as_python([&] { await(keys, timeout.value_or(timeout_)); });
}

bool EtcdV2Store::check(const std::vector<std::string>& keys) {
  return as_python([&] { return has(keys); });
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
  return prefix_ + base64_encode(Value(key)).bytes();
}

void EtcdV2Store::put(const std::string& key, const Value& value) {
  client_->put(path_of(key), {.value = base64_encode(value).bytes()});
}

bool EtcdV2Store::has(const std::vector<std::string>& keys) {
  std::uint64_t index = 0;
  const auto found = present(index);
  return std::all_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return found.contains(path_of(key)); });
}

std::map<std::string, std::string> EtcdV2Store::present(std::uint64_t& index) {
  std::map<std::string, std::string> out;
  try {
    EtcdV2Answer answer = client_->list(prefix_.substr(0, prefix_.size() - 1));
    index = answer.index;
    for (EtcdV2Node& node : answer.below) {
      if (!node.is_directory) out.emplace(std::move(node.key), std::move(node.value));
    }
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;
    index = 0;
  }
  return out;
}

std::map<std::string, Value> EtcdV2Store::await(const std::vector<std::string>& keys,
                                                sim::Duration timeout) {
  const sim::MonotonicTime deadline = ports_.clock.monotonic_now() + timeout;
  for (bool last = false;;) {
    std::uint64_t index = 0;
    const auto found = present(index);
    std::map<std::string, Value> out;
    std::string missing;
    for (const std::string& key : keys) {
      const auto entry = found.find(path_of(key));
      if (entry == found.end()) {
        missing += (missing.empty() ? "" : ", ") + key;
      } else {
        out[key] = base64_decode(Value(entry->second));
      }
    }
    if (missing.empty()) return out;
    if (last || ports_.clock.monotonic_now() >= deadline) {
      throw EscapedPythonError("LookupError", "no such key in time: " + missing);
    }
    last = !watch(index, deadline);
  }
}

bool EtcdV2Store::watch(std::uint64_t index, sim::MonotonicTime deadline) {
  // An empty store was never listed: its index is unknown, and a look now and then has to do.
  if (index == 0) deadline = std::min(deadline, ports_.clock.monotonic_now() + 1s);
  try {
    const auto change =
        client_->watch(prefix_.substr(0, prefix_.size() - 1),
                       index == 0 ? std::nullopt : std::optional(index + 1), deadline);
    return change || ports_.clock.monotonic_now() >= deadline;
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
