#pragma once
// An etcd of one member with the v3 API over its JSON gateway, in memory: what simulated jobs meet
// instead of etcd. It answers as etcd 3.4 does; properties/interop compares the two.

#include <memory>

#include "model/etcd/misbehaviour.h"
#include "model/http/http_service.h"
#include "sim/port/ports.h"

namespace hooke::model {

class EtcdV3Server {
 public:
  /// It behaves as etcd should, except for what is switched on in `misbehaviour`, which is this
  /// server's alone while it lives. std::runtime_error when the port (0: any) is taken.
  EtcdV3Server(
      sim::Ports& ports, sim::PortNumber port,
      std::shared_ptr<EtcdMisbehaviour> misbehaviour = std::make_shared<EtcdMisbehaviour>());
  ~EtcdV3Server();
  EtcdV3Server(const EtcdV3Server&) = delete;
  EtcdV3Server& operator=(const EtcdV3Server&) = delete;

  [[nodiscard]] sim::PortNumber port() const;

 private:
  class Service;
  std::shared_ptr<Service> service_;  ///< outlives us for as long as its fiber runs
  std::unique_ptr<HttpService> http_;
};

}  // namespace hooke::model
