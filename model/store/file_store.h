#pragma once
// PyTorch's FileStore: keys and values as a log of records in one file that all processes share
// (torch/csrc/distributed/c10d/FileStore.cpp).

#include <memory>
#include <string>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// How a user that opens the store is counted in it.
enum class FileStoreUser : unsigned char {
  onlooker,          ///< not at all: a look from outside writes nothing
  counted_at_leave,  ///< in `cleanup/`, as by PyTorch 1.13
  counted,           ///< in `refcount/` too, as by PyTorch 2.x
};

/// A store in the file at `path`, which is made for a counted user. Each operation locks the file
/// as a whole; waits look every 10 ms. Errors of the file system, and a record cut short (which
/// PyTorch's own readers spin on for ever, S-11), are StoreErrors naming the file and the byte; of
/// a counted user already from here. compare_set and the rest behave as on TCP; delete_key always
/// says true, as PyTorch's. The last user removes the file of a store of known world size only: a
/// rendezvous' has none.
std::shared_ptr<Store> open_file_store(sim::Ports& ports, std::string path,
                                       FileStoreUser user = FileStoreUser::counted);

}  // namespace hooke::model
