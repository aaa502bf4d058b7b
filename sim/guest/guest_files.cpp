// What a thread of a guest asks of its machine's files.
#include <cerrno>
#include <utility>

#include "sim/guest/guest_process.h"
#include "sim/port/check.h"

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

/// 0 or an error's number.
int number_of(const sim::Outcome<sim::Done>& done) {
  const int number = done ? 0 : errno_of(done.failure().fault);
  HOOKE_CHECK(done.ok() == (number == 0), "an error has a number of its own");
  return number;
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
  return {number_of(ports_.files.make_fifo(path))};
}

GuestProcess::Answer GuestProcess::on_exists(std::size_t, const Message& arguments) {
  return {ports_.files.exists(arguments.at(0).text())};
}

/// "directory", "file" for everything else, or None.
GuestProcess::Answer GuestProcess::on_kind(std::size_t, const Message& arguments) {
  const std::string& path = arguments.at(0).text();
  if (!ports_.files.exists(path)) return {};
  return {ports_.files.list(path) ? "directory" : "file"};
}

/// 0 or an error's number.
GuestProcess::Answer GuestProcess::on_remove(std::size_t, const Message& arguments) {
  const std::string& path = arguments.at(0).text();
  if (!ports_.files.exists(path)) return {ENOENT};
  return {number_of(ports_.files.remove_file(path))};
}

/// 0 or an error's number, like those that follow.
GuestProcess::Answer GuestProcess::on_make_directory(std::size_t, const Message& arguments) {
  return {number_of(ports_.files.make_private_directory(arguments.at(0).text()))};
}

GuestProcess::Answer GuestProcess::on_make_directories(std::size_t, const Message& arguments) {
  return {number_of(ports_.files.make_directories(arguments.at(0).text()))};
}

GuestProcess::Answer GuestProcess::on_remove_tree(std::size_t, const Message& arguments) {
  return {number_of(ports_.files.remove(arguments.at(0).text()))};
}

/// (Error's number, names).
GuestProcess::Answer GuestProcess::on_list(std::size_t, const Message& arguments) {
  const auto listed = ports_.files.list(arguments.at(0).text());
  if (!listed) return {Message::List{errno_of(listed.failure().fault), Message::List{}}};
  Message::List names;
  for (const std::string& name : listed.value()) {
    HOOKE_CHECK(!name.empty() && name.find('/') == std::string::npos, "a directory lists names");
    names.emplace_back(name);
  }
  return {Message::List{0, std::move(names)}};
}

/// (Error's number, contents).
GuestProcess::Answer GuestProcess::on_read(std::size_t, const Message& arguments) {
  const auto contents = ports_.files.read(arguments.at(0).text());
  if (!contents) return {Message::List{errno_of(contents.failure().fault), Bytes{}}};
  return {Message::List{0, Bytes{contents.value()}}};
}

GuestProcess::Answer GuestProcess::on_write(std::size_t, const Message& arguments) {
  return {number_of(ports_.files.write(arguments.at(0).text(), arguments.at(1).bytes()))};
}

/// Waits for a process that writes, as open(2) does. (Error's number, the reader's number).
GuestProcess::Answer GuestProcess::on_open_fifo(std::size_t, const Message& arguments) {
  auto opened = ports_.files.open_fifo_reader(arguments.at(0).text());
  if (!opened) return {Message::List{errno_of(opened.failure().fault), 0}};
  std::unique_ptr<sim::FifoReader> reader = std::move(opened).value();
  HOOKE_CHECK(reader != nullptr, "a FIFO that is open has a reader");
  const auto come = reader->wait_for_writer(std::nullopt);
  if (!come) return {Message::List{errno_of(come.failure().fault), 0}};
  const std::int64_t number = ++last_reader_;
  HOOKE_CHECK(!readers_.contains(number), "no two readers have one number");
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
