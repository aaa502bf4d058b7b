#pragma once
// How fast a TCPStore answers: many clients of one process ask as fast as they get answers.

#include <cstdint>
#include <string>
#include <vector>

#include "model/store/tcp_store.h"

namespace hooke::report {

struct StoreLoad {
  model::TcpStoreOptions store;
  std::size_t connections = 1;
  /// set, get, add or compare_set. A set is not answered, so each is followed by a check of its
  /// key.
  std::string operation = "get";
  std::size_t value_bytes = 64;
  sim::Duration span = std::chrono::seconds(2);
};

struct StoreFigures {
  std::uint64_t operations = 0;
  double per_second = 0;
  sim::Duration p50{}, p99{};  ///< of one operation, as its client sees it
};

/// The operations that can be measured: set, get, add, compare_set. A set is not answered, so each
/// is followed by a check of its key.
const std::vector<std::string>& store_operations();

/// The clients of one load. Each has a key of its own, "hooke-load/<number>".
class StoreClients {
 public:
  /// Connects them one after the other: a server of PyTorch looks up the name of each, which takes
  /// its time. StoreError when the store fails.
  StoreClients(sim::Ports& ports, StoreLoad load);
  /// All of them ask for the span as fast as they get answers. StoreError when the store fails;
  /// std::invalid_argument for an unknown operation.
  StoreFigures measure(const std::string& operation);
  /// Deletes their keys. StoreError when the store fails.
  void clean_up();

 private:
  sim::Ports& ports_;
  StoreLoad load_;
  std::vector<std::shared_ptr<model::Store>> clients_;
};

}  // namespace hooke::report
