// Every operation first asks whether its process still lives: unwinding code must not touch the
// disk.
#include "sim/world/files.h"

#include <algorithm>

#include "sim/port/check.h"
#include "sim/port/network.h"

namespace hooke::world {
namespace {

sim::Failure failure(sim::Fault fault, const std::string& path) {
  return {fault, path, false};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string() : path.substr(0, slash);
}

}  // namespace

// ---- directories --------------------------------------------------------------------------------

sim::Outcome<sim::Done> SimFiles::make_directories(const std::string& path) {
  await_disk(path);
  if (closed_) return failure(sim::Fault::closed, path);
  std::vector<std::string> missing;
  for (std::string directory = path; !directory.empty(); directory = parent_of(directory)) {
    const auto found = disk_.files.find(directory);
    if (found == disk_.files.end()) {
      missing.push_back(directory);
    } else if (!found->second.is_directory) {
      return failure(sim::Fault::exists, directory);
    }
  }
  if (!missing.empty() && !disk_.full_because.empty()) {
    disk_.felt(disk_.full_because.front());
    return failure(sim::Fault::no_space, path);
  }
  for (const std::string& directory : missing) {
    HOOKE_CHECK(!disk_.files.contains(directory), "a directory that is made was not there");
    disk_.files[directory].is_directory = true;
  }
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::make_private_directory(const std::string& path) {
  await_disk(path);
  if (auto parent = has_parent(path); !parent) return parent;
  if (disk_.files.contains(path)) return failure(sim::Fault::exists, path);
  return make_directories(path);
}

sim::Outcome<sim::Done> SimFiles::has_parent(const std::string& path) const {
  if (closed_) return failure(sim::Fault::closed, path);
  const std::string parent = parent_of(path);
  if (parent.empty()) return sim::Done{};
  const auto found = disk_.files.find(parent);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, parent);
  if (!found->second.is_directory) return failure(sim::Fault::denied, parent);
  return sim::Done{};
}

sim::Outcome<std::vector<std::string>> SimFiles::list(const std::string& path) {
  if (closed_) return failure(sim::Fault::closed, path);
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end() || !found->second.is_directory) {
    return failure(sim::Fault::not_found, path);
  }
  std::vector<std::string> names;
  const std::string below = path + "/";
  for (auto entry = disk_.files.lower_bound(below);
       entry != disk_.files.end() && entry->first.starts_with(below); ++entry) {
    std::string rest = entry->first.substr(below.size());
    HOOKE_CHECK(!rest.empty(), "an entry of a directory has a name");
    if (rest.find('/') == std::string::npos) names.push_back(std::move(rest));
  }
  return names;
}

sim::Outcome<sim::Done> SimFiles::rename(const std::string& from, const std::string& to) {
  if (auto parent = has_parent(to); !parent) return parent;
  const auto found = disk_.files.find(from);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, from);
  if (from == to) return sim::Done{};
  const std::string below = from + "/";
  const auto target = disk_.files.find(to);
  const bool over_directory = target != disk_.files.end() && target->second.is_directory;
  if (over_directory || to.starts_with(below)) return failure(sim::Fault::denied, to);
  HOOKE_CHECK(from != to, "a file that is renamed gets another name");
  disk_.files[to] = std::move(found->second);
  disk_.files.erase(found);
  HOOKE_CHECK(!disk_.files.contains(from), "a file that is renamed has one name");
  for (auto entry = disk_.files.lower_bound(below);
       entry != disk_.files.end() && entry->first.starts_with(below);) {
    disk_.files[to + "/" + entry->first.substr(below.size())] = std::move(entry->second);
    entry = disk_.files.erase(entry);
  }
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::remove(const std::string& path) {
  if (closed_) return failure(sim::Fault::closed, path);
  disk_.files.erase(path);
  const std::string below = path + "/";
  auto first = disk_.files.lower_bound(below);
  while (first != disk_.files.end() && first->first.starts_with(below)) {
    first = disk_.files.erase(first);
  }
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::remove_file(const std::string& path) {
  if (closed_) return failure(sim::Fault::closed, path);
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return sim::Done{};
  if (found->second.is_directory) return failure(sim::Fault::denied, path);
  disk_.files.erase(found);
  return sim::Done{};
}

bool SimFiles::exists(const std::string& path) {
  return !closed_ && disk_.files.contains(path);
}

// ---- files --------------------------------------------------------------------------------------

sim::Outcome<Disk::File*> SimFiles::writable(const std::string& path) {
  if (auto parent = has_parent(path); !parent) return parent.failure();
  Disk::File& file = disk_.files[path];
  if (!file.is_regular()) return failure(sim::Fault::denied, path);
  HOOKE_CHECK(!closed_, "a process that has ended writes to no file");
  return &file;
}

sim::Outcome<sim::Done> SimFiles::store(const std::string& path, Disk::File& file,
                                        std::string_view bytes) {
  HOOKE_CHECK(file.is_regular(), "bytes are stored in a file");
  if (bytes.empty()) return sim::Done{};
  if (!disk_.full_because.empty()) {
    HOOKE_CHECK(disk_.felt != nullptr, "a full disk tells which process feels it");
    disk_.felt(disk_.full_because.front());
    return failure(sim::Fault::no_space, path);
  }
  if (disk_.next_write) {
    HOOKE_CHECK(disk_.felt != nullptr, "a short write tells which process feels it");
    const Disk::ShortWrite cut = *std::exchange(disk_.next_write, std::nullopt);
    file.contents.append(bytes.substr(0, cut.bytes_kept));
    disk_.felt(cut.fault);
    return failure(sim::Fault::no_space, path);
  }
  file.contents.append(bytes);
  return sim::Done{};
}

void SimFiles::await_disk(std::string_view path) {
  if (disk_.stalled_because.empty() || closed_) return;
  for (const std::string_view made_up : {"/dev/", "/proc/", "/sys/"}) {
    if (path.starts_with(made_up)) return;
  }
  HOOKE_CHECK(disk_.felt != nullptr, "a disk that stalls tells which process feels it");
  disk_.felt(disk_.stalled_because.front());
  while (!disk_.stalled_because.empty()) {
    const sim::ParkTicket ticket = executor_.ticket();
    disk_.stalled.emplace_back(this, ticket);
    static_cast<void>(executor_.park(ticket, std::nullopt));
  }
}

/// In the order in which they came. Where another fault keeps the disk from answering, they feel
/// that one.
void SimFiles::let_go_on(Disk& disk) {
  if (!disk.stalled_because.empty()) {
    if (!disk.stalled.empty()) disk.felt(disk.stalled_because.front());
    return;
  }
  for (const auto& [files, ticket] : std::exchange(disk.stalled, {})) {
    static_cast<void>(files->executor_.wake(ticket));
  }
}

sim::Outcome<sim::Done> SimFiles::write(const std::string& path, std::string_view bytes) {
  await_disk(path);
  return write_at_once(path, bytes);
}

sim::Outcome<sim::Done> SimFiles::write_at_once(const std::string& path, std::string_view bytes) {
  auto file = writable(path);
  if (!file) return file.failure();
  file.value()->contents.clear();
  return store(path, *file.value(), bytes);
}

sim::Outcome<sim::Done> SimFiles::append(const std::string& path, std::string_view bytes) {
  await_disk(path);
  auto file = writable(path);
  if (!file) return file.failure();
  return store(path, *file.value(), bytes);
}

sim::Outcome<std::string> SimFiles::read(const std::string& path) {
  await_disk(path);
  if (closed_) return failure(sim::Fault::closed, path);
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, path);
  if (!found->second.is_regular()) return failure(sim::Fault::denied, path);
  return found->second.contents;
}

sim::Outcome<std::string> SimFiles::read_from(const std::string& path, std::uint64_t offset) {
  constexpr std::size_t kReadBytesMax = 64UL * 1024;
  auto whole = read(path);
  if (!whole) return whole;
  const std::size_t size = whole.value().size();
  return whole.value().substr(std::min<std::uint64_t>(offset, size), kReadBytesMax);
}

// ---- socket files -------------------------------------------------------------------------------

sim::Outcome<sim::Done> SimFiles::make_socket(const std::string& path, std::uint32_t number) {
  if (path.size() > sim::kSocketPathBytesMax) return failure(sim::Fault::denied, path);
  if (auto parent = has_parent(path); !parent) return parent;
  if (disk_.files.contains(path)) return failure(sim::Fault::address_in_use, path);
  HOOKE_CHECK(number != 0, "a socket file has a number");
  disk_.files[path].socket = number;
  return sim::Done{};
}

sim::Outcome<std::uint32_t> SimFiles::socket(const std::string& path) {
  if (closed_) return failure(sim::Fault::closed, path);
  if (path.size() > sim::kSocketPathBytesMax) return failure(sim::Fault::denied, path);
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, path);
  if (found->second.socket == 0) return failure(sim::Fault::connection_refused, path);
  HOOKE_CHECK(!found->second.is_directory, "a directory is no socket");
  return found->second.socket;
}

// ---- locks --------------------------------------------------------------------------------------

class SimFiles::HeldLock final : public sim::FileLock {
 public:
  HeldLock(SimFiles& files, std::string path, bool exclusive)
      : files_(&files), path_(std::move(path)), exclusive_(exclusive) {
    HOOKE_CHECK(!files.closed_, "only a living process holds a lock");
    files.held_.push_back(this);
  }
  ~HeldLock() override {
    if (files_ == nullptr) return;
    std::erase(files_->held_, this);
    give_back();
  }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  /// Once: the process may end before the object does.
  void give_back() { std::exchange(files_, nullptr)->unlock(path_, exclusive_); }

 private:
  SimFiles* files_;
  std::string path_;
  bool exclusive_;
};

sim::Outcome<std::unique_ptr<sim::FileLock>> SimFiles::lock(
    const std::string& path, bool exclusive, bool create,
    std::optional<sim::MonotonicTime> deadline) {
  for (bool in_time = true;;) {
    if (closed_) return failure(sim::Fault::closed, path);
    if (!disk_.files.contains(path)) {
      if (!create) return failure(sim::Fault::not_found, path);
      if (const auto file = writable(path); !file) return file.failure();
    }
    Disk::Lock& lock = disk_.locks[path];
    const bool is_free = lock.writer == nullptr && (!exclusive || lock.readers.empty());
    if (is_free) {
      HOOKE_CHECK(lock.writer == nullptr, "a lock that is taken is free of writers");
      if (exclusive) {
        HOOKE_CHECK(lock.readers.empty(), "a lock that is held alone has no reader");
        lock.writer = this;
      } else {
        lock.readers.push_back(this);
      }
      return std::unique_ptr<sim::FileLock>(std::make_unique<HeldLock>(*this, path, exclusive));
    }
    if (!in_time) return failure(sim::Fault::timed_out, path);
    const sim::ParkTicket ticket = executor_.ticket();
    lock.waiting.emplace_back(this, ticket);
    in_time = executor_.park(ticket, deadline) == sim::Wake::woken;
    HOOKE_CHECK(in_time || deadline, "a wait without a deadline is woken");
    std::erase_if(disk_.locks[path].waiting, [&](const auto& entry) {
      return entry.second.fiber == ticket.fiber && entry.second.generation == ticket.generation;
    });
  }
}

void SimFiles::unlock(const std::string& path, bool exclusive) {
  Disk::Lock& lock = disk_.locks[path];
  if (exclusive) {
    HOOKE_CHECK(lock.writer == this, "a lock is given back by the one that holds it");
    lock.writer = nullptr;
  } else if (const auto own = std::find(lock.readers.begin(), lock.readers.end(), this);
             own != lock.readers.end()) {
    lock.readers.erase(own);
  }
  // All of them look again, in the order in which they came.
  for (const auto& [files, ticket] : std::exchange(lock.waiting, {})) {
    static_cast<void>(files->executor_.wake(ticket));
  }
  if (lock.writer == nullptr && lock.readers.empty()) disk_.locks.erase(path);
}

void SimFiles::close() {
  HOOKE_CHECK(!closed_ || held_.empty(), "a process that has ended takes no lock");
  closed_ = true;
  std::erase_if(disk_.stalled, [&](const auto& entry) { return entry.first == this; });
  for (auto& [path, lock] : disk_.locks) {
    std::erase_if(lock.waiting, [&](const auto& entry) { return entry.first == this; });
  }
  for (HeldLock* const lock : std::exchange(held_, {})) lock->give_back();
  HOOKE_CHECK(held_.empty(), "an ended process holds no lock");
  close_pipes();
}

}  // namespace hooke::world
