// Files by path in one sorted map: a directory is an entry of its own, its contents are the keys
// below it.
#include "sim/world/files.h"

namespace hooke::world {
namespace {

constexpr std::size_t kFifoCapacityBytes = 65'536;  // Linux' default pipe size

sim::Failure failure(sim::Fault fault, const std::string& path) {
  return {fault, path, false};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? std::string() : path.substr(0, slash);
}

}  // namespace

sim::Outcome<sim::Done> SimFiles::make_directories(const std::string& path) {
  for (std::string directory = path; !directory.empty(); directory = parent_of(directory)) {
    Disk::File& entry = disk_.files[directory];
    if (!entry.is_directory && !entry.contents.empty())
      return failure(sim::Fault::exists, directory);
    entry.is_directory = true;
  }
  return sim::Done{};
}

sim::Outcome<Disk::File*> SimFiles::writable(const std::string& path) {
  const std::string parent = parent_of(path);
  if (!parent.empty() && !disk_.files.contains(parent))
    return failure(sim::Fault::not_found, parent);
  Disk::File& file = disk_.files[path];
  if (file.is_directory || file.is_fifo) return failure(sim::Fault::denied, path);
  return &file;
}

sim::Outcome<sim::Done> SimFiles::store(const std::string& path, Disk::File& file,
                                        std::string_view bytes) {
  if (disk_.full || disk_.next_write_keeps) {
    const std::size_t kept = disk_.full ? 0 : std::min(*disk_.next_write_keeps, bytes.size());
    file.contents.append(bytes.substr(0, kept));
    disk_.next_write_keeps.reset();
    if (disk_.felt_full) disk_.felt_full();
    return failure(sim::Fault::no_space, path);
  }
  file.contents.append(bytes);
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::write(const std::string& path, std::string_view bytes) {
  auto file = writable(path);
  if (!file) return file.failure();
  file.value()->contents.clear();
  return store(path, *file.value(), bytes);
}

sim::Outcome<sim::Done> SimFiles::append(const std::string& path, std::string_view bytes) {
  auto file = writable(path);
  if (!file) return file.failure();
  return store(path, *file.value(), bytes);
}

sim::Outcome<std::string> SimFiles::read(const std::string& path) {
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, path);
  if (found->second.is_directory || found->second.is_fifo) return failure(sim::Fault::denied, path);
  return found->second.contents;
}

sim::Outcome<sim::Done> SimFiles::rename(const std::string& from, const std::string& to) {
  const auto found = disk_.files.find(from);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, from);
  Disk::File file = std::move(found->second);
  disk_.files.erase(found);
  disk_.files[to] = std::move(file);
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::remove(const std::string& path) {
  disk_.files.erase(path);
  const std::string below = path + "/";
  auto first = disk_.files.lower_bound(below);
  while (first != disk_.files.end() && first->first.starts_with(below))
    first = disk_.files.erase(first);
  return sim::Done{};
}

bool SimFiles::exists(const std::string& path) {
  return disk_.files.contains(path);
}

sim::Outcome<std::vector<std::string>> SimFiles::list(const std::string& path) {
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end() || !found->second.is_directory) {
    return failure(sim::Fault::not_found, path);
  }
  std::vector<std::string> names;
  const std::string below = path + "/";
  for (auto entry = disk_.files.lower_bound(below);
       entry != disk_.files.end() && entry->first.starts_with(below); ++entry) {
    const std::string rest = entry->first.substr(below.size());
    if (rest.find('/') == std::string::npos) names.push_back(rest);
  }
  return names;
}

sim::Outcome<sim::Done> SimFiles::make_fifo(const std::string& path) {
  if (disk_.files.contains(path)) return failure(sim::Fault::exists, path);
  disk_.files[path].is_fifo = true;
  return sim::Done{};
}

sim::Outcome<sim::Done> SimFiles::write_fifo(const std::string& path, std::string_view bytes) {
  const auto found = disk_.files.find(path);
  if (found == disk_.files.end()) return failure(sim::Fault::not_found, path);
  Disk::File& fifo = found->second;
  if (!fifo.is_fifo) return failure(sim::Fault::denied, path);
  if (fifo.fifo_readers == 0) return failure(sim::Fault::closed, path);
  if (fifo.contents.size() + bytes.size() > kFifoCapacityBytes) {
    return failure(sim::Fault::no_space, path);
  }
  fifo.contents.append(bytes);
  for (auto& [executor, ticket] : std::exchange(fifo.fifo_waiters, {})) executor->wake(ticket);
  return sim::Done{};
}

sim::Outcome<std::string> SimFiles::read_fifo(const std::string& path,
                                              std::optional<sim::MonotonicTime> deadline) {
  for (;;) {
    const auto found = disk_.files.find(path);
    if (found == disk_.files.end()) return failure(sim::Fault::not_found, path);
    Disk::File& fifo = found->second;
    if (!fifo.is_fifo) return failure(sim::Fault::denied, path);
    fifo.fifo_readers = 1;
    if (!fifo.contents.empty()) return std::exchange(fifo.contents, {});
    const sim::ParkTicket ticket = executor_.ticket();
    fifo.fifo_waiters.emplace_back(&executor_, ticket);
    if (executor_.park(ticket, deadline) == sim::Wake::timed_out) {
      return failure(sim::Fault::timed_out, path);
    }
  }
}

}  // namespace hooke::world
