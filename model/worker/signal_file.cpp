// Lines to and from the file. A line that a full disk has cut off must not spoil the next one, so
// each begins with a newline of its own.
#include "model/worker/signal_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr sim::Duration kLockTimeout = 10s;
/// What a text names in an error, without flooding it.
constexpr std::size_t kSignalShownBytes = 80;

[[noreturn]] void refuse_signal(std::string_view line, const std::string& what) {
  std::string shown(line.substr(0, kSignalShownBytes));
  if (line.size() > kSignalShownBytes) shown += "...";
  throw std::invalid_argument(
      "signal " + json(shown).dump(-1, ' ', true, json::error_handler_t::replace) + ": " + what);
}

std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace

std::string encode_file_signal(const FileSignal& signal) {
  HOOKE_CHECK(!signal.name.empty(), "a signal has a name");
  return R"({"scope": )" + quoted(signal.scope) + R"(, "name": )" + quoted(signal.name) +
         R"(, "from": )" + quoted(signal.from) + R"(, "number": )" + std::to_string(signal.number) +
         "}";
}

FileSignal parse_file_signal(std::string_view line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::parse_error& error) {
    refuse_signal(line, "no JSON at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    refuse_signal(line, "a number is too large");
  }
  if (!object.is_object()) refuse_signal(line, "a JSON object was expected");
  const auto text = [&](const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) {
      refuse_signal(line, std::string("/") + name + " must be a text");
    }
    return found->get<std::string>();
  };
  FileSignal out{text("scope"), text("name"), text("from"), 0};
  if (out.name.empty()) refuse_signal(line, "/name must not be empty");
  const auto number = object.find("number");
  if (number == object.end() || !number->is_number_unsigned()) {
    refuse_signal(line, "/number must be a whole number from 0 on");
  }
  out.number = number->get<std::uint64_t>();
  return out;
}

SignalFile::SignalFile(sim::Ports& ports, std::string path, std::string scope, std::string from)
    : ports_(ports), path_(std::move(path)), scope_(std::move(scope)), from_(std::move(from)) {}

void SignalFile::raise(const std::string& name) {
  if (name.empty()) throw EscapedPythonError("ValueError", "a signal must have a name");
  const std::string line = encode_file_signal({scope_, name, from_, raised_ + 1});
  if (line.size() + 2 > kSignalBytesMax) {
    throw EscapedPythonError("ValueError", "a signal of " + std::to_string(line.size()) +
                                               " bytes is longer than " +
                                               std::to_string(kSignalBytesMax));
  }
  HOOKE_CHECK(line.find('\n') == std::string::npos, "a signal is one line");
  const auto lock =
      ports_.files.lock(path_, true, true, ports_.clock.monotonic_now() + kLockTimeout);
  if (!lock) {
    const bool busy = lock.failure().fault == sim::Fault::timed_out;
    throw EscapedPythonError(busy ? "TimeoutError" : "OSError",
                             path_ + ": " + std::string(to_string(lock.failure().fault)));
  }
  const auto written = ports_.files.append(path_, "\n" + line + "\n");
  if (!written) {
    throw EscapedPythonError("OSError",
                             path_ + ": " + std::string(to_string(written.failure().fault)));
  }
  ++raised_;
  ports_.trace.emit(events::file_signal_raised, {path_, name, from_, raised_});
}

void SignalFile::take(std::string_view line, std::vector<FileSignal>& into) {
  if (line.empty()) return;
  try {
    FileSignal signal = parse_file_signal(line);
    if (signal.scope != scope_) return;
    ports_.trace.emit(events::file_signal_seen, {path_, signal.name, signal.from, signal.number});
    into.push_back(std::move(signal));
  } catch (const std::invalid_argument& error) {
    ports_.trace.emit(events::file_signal_refused, {path_, error.what()});
  }
}

std::vector<FileSignal> SignalFile::look() {
  std::vector<FileSignal> out = std::move(unclaimed_);
  unclaimed_.clear();
  for (;;) {
    auto more = ports_.files.read_from(path_, read_);
    if (!more || more->empty()) break;
    read_ += more->size();
    rest_ += *more;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      take(std::string_view(rest_).substr(begin, end - begin), out);
    }
    rest_.erase(0, begin);
    // No honest client writes that much in one line: it is dropped piece by piece, and what is
    // left of it is refused at its end.
    if (rest_.size() > kSignalBytesMax) rest_.erase(0, rest_.size() - 1);
    HOOKE_CHECK(rest_.size() <= kSignalBytesMax, "of a line no more is kept than it may have");
    HOOKE_CHECK(rest_.find('\n') == std::string::npos, "what is kept is the beginning of one line");
  }
  return out;
}

std::optional<FileSignal> SignalFile::wait(const std::string& name, sim::MonotonicTime deadline,
                                           sim::Duration interval) {
  for (;;) {
    std::vector<FileSignal> seen = look();
    const auto found = std::find_if(seen.begin(), seen.end(),
                                    [&](const FileSignal& each) { return each.name == name; });
    std::optional<FileSignal> out;
    if (found != seen.end()) {
      out = std::move(*found);
      seen.erase(found);
    }
    unclaimed_ = std::move(seen);
    const sim::MonotonicTime now = ports_.clock.monotonic_now();
    if (out || now >= deadline) return out;
    ports_.executor.sleep_until(std::min(deadline, now + interval));
  }
}

}  // namespace hooke::model
