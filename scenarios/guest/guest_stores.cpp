// Python's arguments, the model's calls, PyTorch's names of errors.
#include "scenarios/guest/guest_stores.h"

#include <utility>

#include "model/store/file_store.h"
#include "model/store/kinds/tcp_stores.h"
#include "scenarios/format/fixed_names.h"

namespace hooke::scenario {
namespace {

using guest::Bytes;
using guest::GuestError;
using guest::Message;

Message done(Message value = {}) {
  return Message::List{"", std::move(value)};
}

Message failed(const char* error, const std::string& text) {
  return Message::List{error, text};
}

sim::Value value_of(const Message& message) {
  return sim::Value(message.bytes());
}

std::vector<std::string> keys_of(const Message& message) {
  std::vector<std::string> out;
  for (const Message& key : message.list()) out.push_back(key.text());
  return out;
}

}  // namespace

Message GuestStores::request(const std::string& operation, const Message& arguments) {
  bool is_file = operation == "open";
  try {
    if (operation == "connect") return connect(arguments);
    if (is_file) return open(arguments);
    const auto found = clients_.find(arguments.at(0).number());
    if (found == clients_.end()) throw GuestError("a store is used after it was closed");
    is_file = found->second.is_file;
    if (operation == "leave") {
      const Client left = std::move(found->second);  // it may wait for the lock when it goes
      clients_.erase(found);
      return done();
    }
    // Kept while the call lasts: the process may end in it.
    const std::shared_ptr<model::Store> store = found->second.store;
    return done(operate(*store, operation, arguments));
  } catch (const model::StoreTimeoutError& error) {
    // FileStore.cpp has no class for it.
    return failed(is_file ? "RuntimeError" : "DistStoreError", error.what());
  } catch (const model::StoreNetworkError& error) {
    return failed("DistNetworkError", error.what());
  } catch (const model::StoreError& error) {
    return failed(is_file ? "DistStoreError" : "DistError", error.what());
  }
}

void GuestStores::close(std::int64_t handle) {
  clients_.erase(handle);
}

std::shared_ptr<model::TcpStoreServer> GuestStores::serve(sim::PortNumber port, bool shared) {
  const bool reusable = shared && port.value != 0;
  if (reusable) {
    if (auto known = shared_servers_[port].lock()) return known;
  }
  const char* const purpose = port == kStorePort ? "rendezvous" : "workers";
  std::shared_ptr<model::TcpStoreServer> server = model::serve_tcp_store(ports_, port, purpose);
  if (reusable) shared_servers_[port] = server;
  return server;
}

/// Host, port, is_master, multi_tenant, time-out, whether a world size was given.
Message GuestStores::connect(const Message& arguments) {
  Client client;
  model::TcpStoreOptions options;
  options.endpoint = {arguments.at(0).text(),
                      sim::PortNumber{static_cast<std::uint16_t>(arguments.at(1).number())}};
  if (arguments.at(2).truth()) {
    client.server = serve(options.endpoint.port, arguments.at(3).truth());
    options.endpoint.port = client.server->port();
  }
  options.variant = variant_;
  options.timeout = sim::Duration(arguments.at(4).number());
  options.count_in = arguments.at(5).truth();
  client.store = model::connect_tcp_store(ports_, options);
  return add_client(std::move(client), options.endpoint.port.value);
}

/// The path. An agent counts as one that uses the file.
Message GuestStores::open(const Message& arguments) {
  const auto user = model::counts_users_of_a_file_store(variant_)
                        ? model::FileStoreUser::counted
                        : model::FileStoreUser::counted_at_leave;
  Client client;
  client.store = model::open_file_store(ports_, arguments.at(0).text(), user);
  client.is_file = true;
  return add_client(std::move(client), 0);
}

Message GuestStores::add_client(Client client, std::int64_t port) {
  clients_[++last_handle_] = std::move(client);
  return done(Message::List{last_handle_, port});
}

Message GuestStores::operate(model::Store& store, const std::string& operation,
                             const Message& arguments) {
  if (operation == "timeout") return store.timeout().count();
  if (operation == "num_keys") return store.num_keys();
  if (operation == "set_timeout") {
    store.set_timeout(sim::Duration(arguments.at(1).number()));
    return {};
  }
  const bool many = operation == "wait" || operation == "check" || operation == "multi_get" ||
                    operation == "multi_set";
  return many ? operate_on_many(store, operation, arguments)
              : operate_on_key(store, operation, arguments);
}

Message GuestStores::operate_on_many(model::Store& store, const std::string& operation,
                                     const Message& arguments) {
  const std::vector<std::string> keys = keys_of(arguments.at(1));
  if (operation == "check") return store.check(keys);
  if (operation == "wait") {
    const std::int64_t limit = arguments.at(2).number();
    store.wait(keys, limit < 0 ? std::nullopt : std::optional(sim::Duration(limit)));
    return {};
  }
  if (operation == "multi_get") {
    Message::List values;
    for (const sim::Value& value : store.multi_get(keys)) values.emplace_back(Bytes{value.bytes()});
    return values;
  }
  std::vector<std::pair<std::string, sim::Value>> items;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    items.emplace_back(keys[i], value_of(arguments.at(2).at(i)));
  }
  store.multi_set(items);
  return {};
}

Message GuestStores::operate_on_key(model::Store& store, const std::string& operation,
                                    const Message& arguments) {
  StoreCall call{operation, arguments.at(1).text(), {}, {}, {}, ports_.clock.monotonic_now()};
  if (operation == "add") return store.add(call.key, arguments.at(2).number());
  if (operation == "delete_key") return store.delete_key(call.key);
  if (operation == "append") {
    store.append(call.key, value_of(arguments.at(2)));
    return {};
  }
  if (operation == "get") {
    call.answer = store.get(call.key);
  } else if (operation == "set") {
    call.value = value_of(arguments.at(2));
    store.set(call.key, call.value);
  } else if (operation == "compare_set") {
    call.expected = value_of(arguments.at(2));
    call.value = value_of(arguments.at(3));
    call.answer = store.compare_set(call.key, call.expected, call.value);
  } else {
    throw GuestError("unknown store operation " + operation);
  }
  observer_(call);
  return operation == "set" ? Message() : Message(Bytes{call.answer.bytes()});
}

}  // namespace hooke::scenario
