#pragma once
// PyTorch's FileStore: keys and values as a log of records in one file that all processes share
// (torch/csrc/distributed/c10d/FileStore.cpp).

#include <memory>
#include <string>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// A store in the file at `path`, of which nothing is touched before the first operation. Each
/// operation locks the file as a whole; waits look every 10 ms. Errors of the file system, and a
/// record cut short (which PyTorch's own readers spin on for ever, S-11), are StoreErrors naming
/// the file and the byte. compare_set and the rest behave as on TCP; delete_key always says true,
/// as PyTorch's. Not counted in `cleanup/` and `refcount/`, by which a store of known world size
/// removes its file: a rendezvous' has none.
std::shared_ptr<Store> open_file_store(sim::Ports& ports, std::string path);

}  // namespace hooke::model
