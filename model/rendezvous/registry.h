#pragma once
// Which backends there are, by name (torch/distributed/elastic/rendezvous/registry.py).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/rendezvous/core/handler.h"

namespace hooke::model {

/// Makes handlers by backend name (api.py:RendezvousHandlerRegistry).
class RendezvousRegistry {
 public:
  using Creator =
      std::function<std::unique_ptr<RendezvousHandler>(sim::Ports&, const RendezvousParameters&)>;
  /// Empty name, or one taken by another creator: std::invalid_argument. Only a plain function can
  /// be told to be the same.
  void add(std::string name, Creator creator);
  /// Unknown backend: std::invalid_argument; a handler that names another backend:
  /// std::runtime_error.
  std::unique_ptr<RendezvousHandler> create(sim::Ports& ports,
                                            const RendezvousParameters& parameters) const;
  /// In alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;
  /// With the backends this model implements: "c10d", "etcd", "etcd-v2", "etcd-v3" and "static".
  static RendezvousRegistry with_builtins();

 private:
  std::map<std::string, Creator> creators_;
};

}  // namespace hooke::model
