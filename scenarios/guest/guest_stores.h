#pragma once
// The TCPStores and FileStores of one Python agent: clients and servers of the model, so that what
// goes over the simulated network, and what is drawn for it, is what hooke's own agents would send
// and draw; and what a file has in it is what they would write.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/store/tcp_store.h"
#include "sim/guest/message.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

/// What the agent has done to a key, told when the answer is there.
struct StoreCall {
  std::string operation;  ///< "get", "set", "compare_set"
  std::string key;
  sim::Value expected;  ///< of compare_set
  sim::Value value;     ///< what was written, or was to be
  sim::Value answer;    ///< what the store said
  sim::MonotonicTime began{};
};

class GuestStores {
 public:
  using Observer = std::function<void(const StoreCall&)>;
  /// `ports` must outlive this. `variant`: whose client is spoken.
  GuestStores(sim::Ports& ports, model::Variant variant, Observer observer)
      : ports_(ports), variant_(variant), observer_(std::move(observer)) {}

  /// Carries out "connect", "open" and "leave" of a file, or an operation of
  /// torch.distributed.Store (Store.hpp) and returns
  /// (error class or "", value or the error's text). guest::GuestError for an unknown one.
  guest::Message request(const std::string& operation, const guest::Message& arguments);
  /// The Python object is gone: its client disconnects, and a server that was its own ends with the
  /// last of its clients here, as PyTorch's do.
  void close(std::int64_t handle);

 private:
  struct Client {
    std::shared_ptr<model::Store> store;
    std::shared_ptr<model::TcpStoreServer> server;  ///< null: served elsewhere, or a file
    bool is_file = false;
  };
  guest::Message connect(const guest::Message& arguments);
  guest::Message open(const guest::Message& arguments);
  guest::Message add_client(Client client, std::int64_t port);
  std::shared_ptr<model::TcpStoreServer> serve(sim::PortNumber port, bool shared);
  guest::Message operate(model::Store& store, const std::string& operation,
                         const guest::Message& arguments);
  guest::Message operate_on_many(model::Store& store, const std::string& operation,
                                 const guest::Message& arguments);
  guest::Message operate_on_key(model::Store& store, const std::string& operation,
                                const guest::Message& arguments);

  sim::Ports& ports_;
  model::Variant variant_;
  Observer observer_;
  std::int64_t last_handle_ = 0;
  std::map<std::int64_t, Client> clients_;
  /// Servers that a second store of this process with the same port shares (multi_tenant).
  std::map<sim::PortNumber, std::weak_ptr<model::TcpStoreServer>> shared_servers_;
};

}  // namespace hooke::scenario
