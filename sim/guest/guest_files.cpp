// What a thread of a guest asks of its machine's files: FIFOs alone, for other files are real ones.
#include <cerrno>
#include <utility>

#include "sim/guest/guest_process.h"

namespace hooke::guest {
namespace {

/// As Python's OSError has it.
int errno_of(sim::Fault fault) {
  switch (fault) {
    case sim::Fault::not_found: return ENOENT;
    case sim::Fault::exists: return EEXIST;
    case sim::Fault::no_space: return ENOSPC;
    case sim::Fault::denied: return EACCES;
    default: return EIO;
  }
}

/// The directory of a path; "" where it has none.
std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

/// 0 or an error's number. A directory for temporary files is there on every machine.
GuestProcess::Answer GuestProcess::on_make_fifo(std::size_t, const Message& arguments) {
  const std::string& path = arguments.at(0).text();
  const std::string parent = parent_of(path);
  if (!parent.empty()) static_cast<void>(ports_.files.make_directories(parent));
  const auto made = ports_.files.make_fifo(path);
  return {made ? 0 : errno_of(made.failure().fault)};
}

GuestProcess::Answer GuestProcess::on_exists(std::size_t, const Message& arguments) {
  return {ports_.files.exists(arguments.at(0).text())};
}

/// 0 or an error's number.
GuestProcess::Answer GuestProcess::on_remove(std::size_t, const Message& arguments) {
  const std::string& path = arguments.at(0).text();
  if (!ports_.files.exists(path)) return {ENOENT};
  const auto removed = ports_.files.remove_file(path);
  return {removed ? 0 : errno_of(removed.failure().fault)};
}

/// Waits for a process that writes, as open(2) does. (Error's number, the reader's number).
GuestProcess::Answer GuestProcess::on_open_fifo(std::size_t, const Message& arguments) {
  auto opened = ports_.files.open_fifo_reader(arguments.at(0).text());
  if (!opened) return {Message::List{errno_of(opened.failure().fault), 0}};
  std::unique_ptr<sim::FifoReader> reader = std::move(opened).value();
  const auto come = reader->wait_for_writer(std::nullopt);
  if (!come) return {Message::List{errno_of(come.failure().fault), 0}};
  const std::int64_t number = ++last_reader_;
  readers_[number] = std::move(reader);
  return {Message::List{0, number}};
}

/// The bytes that are there, or that come while another process has the FIFO open for writing.
GuestProcess::Answer GuestProcess::on_read_fifo(std::size_t, const Message& arguments) {
  const auto reader = readers_.find(arguments.at(0).number());
  if (reader == readers_.end()) throw GuestError("a guest reads a FIFO that it has closed");
  const auto bytes = reader->second->read(std::nullopt);
  return {Bytes{bytes ? bytes.value() : std::string()}};
}

GuestProcess::Answer GuestProcess::on_close_fifo(std::size_t, const Message& arguments) {
  readers_.erase(arguments.at(0).number());
  return {};
}

}  // namespace hooke::guest
