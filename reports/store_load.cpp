// One fiber per client; latencies are kept as they are, not in buckets: a run has some millions.
#include "reports/store_load.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>

#include "model/store/kinds/tcp_stores.h"
#include "reports/quantile.h"

namespace hooke::report {
namespace {

using model::Store;
using model::Value;

/// One operation of client `store` on `key`.
using Operation = std::function<void(Store& store, const std::string& key)>;

Operation operation_of(const std::string& name, const Value& value) {
  if (name == "set") {
    return [value](Store& store, const std::string& key) {
      store.set(key, value);
      static_cast<void>(store.check({key}));
    };
  }
  if (name == "get") {
    return [](Store& store, const std::string& key) { static_cast<void>(store.get(key)); };
  }
  if (name == "add") {
    return
        [](Store& store, const std::string& key) { static_cast<void>(store.add(key + "/n", 1)); };
  }
  if (name == "compare_set") {
    return [value](Store& store, const std::string& key) {
      static_cast<void>(store.compare_set(key, value, value));
    };
  }
  throw std::invalid_argument("no operation \"" + name + "\" of a store is measured");
}

}  // namespace

const std::vector<std::string>& store_operations() {
  static const std::vector<std::string> all{"set", "get", "add", "compare_set"};
  return all;
}

StoreClients::StoreClients(sim::Ports& ports, StoreLoad load)
    : ports_(ports), load_(std::move(load)) {
  for (std::size_t i = 0; i < load_.connections; ++i) {
    clients_.push_back(model::connect_tcp_store(ports, load_.store));
    clients_.back()->set("hooke-load/" + std::to_string(i),
                         Value(std::string(load_.value_bytes, 'x')));
  }
}

StoreFigures StoreClients::measure(const std::string& name) {
  const Operation operation = operation_of(name, Value(std::string(load_.value_bytes, 'x')));
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  const sim::MonotonicTime end = begin + load_.span;
  std::vector<sim::Duration> latencies;
  std::optional<model::StoreError> failure;
  std::vector<sim::FiberId> fibers;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    fibers.push_back(ports_.executor.spawn("client " + std::to_string(i), [&, i] {
      const std::string key = "hooke-load/" + std::to_string(i);
      try {
        for (sim::MonotonicTime now = ports_.clock.monotonic_now(); now < end && !failure;) {
          operation(*clients_[i], key);
          const sim::MonotonicTime after = ports_.clock.monotonic_now();
          latencies.push_back(after - std::exchange(now, after));
        }
      } catch (const model::StoreError& error) {
        failure = error;
      }
    }));
  }
  for (const sim::FiberId fiber : fibers) ports_.executor.join(fiber);
  if (failure) throw *failure;
  const std::chrono::duration<double> took = ports_.clock.monotonic_now() - begin;
  std::sort(latencies.begin(), latencies.end());
  StoreFigures out;
  out.operations = latencies.size();
  out.per_second = static_cast<double>(latencies.size()) / took.count();
  out.p50 = quantile(latencies, 50);
  out.p99 = quantile(latencies, 99);
  return out;
}

void StoreClients::clean_up() {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const std::string key = "hooke-load/" + std::to_string(i);
    for (const std::string& each : {key, key + "/n"}) {
      static_cast<void>(clients_[i]->delete_key(each));
    }
  }
}

}  // namespace hooke::report
