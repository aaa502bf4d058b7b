#pragma once
// An etcd of one member with the v2 API, in memory: what simulated jobs meet instead of etcd. It
// answers as etcd 3.4 does with --enable-v2; properties/interop compares the two.

#include <memory>

#include "model/etcd/misbehaviour.h"
#include "model/http/http_service.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::model {

class EtcdV2Server {
 public:
  /// It behaves as etcd should, except for what is switched on in `misbehaviour`, which is this
  /// server's alone while it lives. std::runtime_error when the port (0: any) is taken.
  EtcdV2Server(
      sim::Ports& ports, sim::PortNumber port,
      std::shared_ptr<EtcdMisbehaviour> misbehaviour = std::make_shared<EtcdMisbehaviour>());
  ~EtcdV2Server();
  EtcdV2Server(const EtcdV2Server&) = delete;
  EtcdV2Server& operator=(const EtcdV2Server&) = delete;

  [[nodiscard]] sim::PortNumber port() const;

 private:
  class Service;
  std::shared_ptr<Service> service_;  ///< outlives us for as long as its fiber runs
  std::unique_ptr<HttpService> http_;
};

}  // namespace hooke::model
