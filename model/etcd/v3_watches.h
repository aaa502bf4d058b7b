#pragma once
// Who watches etcd's v3 keys: streams of results, each with any number of watches
// (server/etcdserver/api/v3rpc/watch.go).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/etcd/v3_keys.h"
#include "model/http/http_service.h"

namespace hooke::model {

class EtcdV3Watches {
 public:
  explicit EtcdV3Watches(const EtcdV3Keys& keys) : keys_(keys) {}
  ~EtcdV3Watches();
  EtcdV3Watches(const EtcdV3Watches&) = delete;
  EtcdV3Watches& operator=(const EtcdV3Watches&) = delete;

  /// Does what the body asks for, and goes on answering until the client leaves. EtcdV3Refusal when
  /// it is no text of watch requests.
  void open(const std::shared_ptr<HttpExchange>& exchange);
  /// These changes have been committed, as one revision.
  void tell(const std::vector<EtcdV3KeyValue>& changes);

 private:
  class Stream;
  const EtcdV3Keys& keys_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace hooke::model
