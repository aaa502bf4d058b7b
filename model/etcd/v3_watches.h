#pragma once
// The watchers of etcd's v3 keys: streams of results, each with any number of watches
// (server/etcdserver/api/v3rpc/watch.go).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/etcd/misbehaviour.h"
#include "model/etcd/v3_keys.h"
#include "model/http/http_service.h"

namespace hooke::model {

class EtcdV3Watches {
 public:
  EtcdV3Watches(const EtcdV3Keys& keys, EtcdMisbehaviour& misbehaviour)
      : keys_(keys), misbehaviour_(misbehaviour), told_(keys.revision()) {}
  ~EtcdV3Watches();
  EtcdV3Watches(const EtcdV3Watches&) = delete;
  EtcdV3Watches& operator=(const EtcdV3Watches&) = delete;

  /// Does what the body asks for, and goes on answering until the client leaves. EtcdV3Refusal when
  /// it is no text of watch requests.
  void open(const std::shared_ptr<HttpExchange>& exchange);
  /// Tells of what has been committed since the last time.
  void tell();

 private:
  class Stream;
  const EtcdV3Keys& keys_;
  EtcdMisbehaviour& misbehaviour_;
  std::int64_t told_;  ///< the revision up to which all have heard
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace hooke::model
