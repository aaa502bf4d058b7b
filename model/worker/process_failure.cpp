// Reading error files, tolerating nothing: PyTorch does not either.
#include "model/worker/process_failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

/// The years of Python's datetime, in seconds: what lies beyond them can be told as no time.
constexpr std::int64_t kYear1 = -62'135'596'800;
constexpr std::int64_t kYear10000 = 253'402'300'800;

/// As Python's int(): a number loses its fraction, a text must be a whole number. Then as its
/// datetime, which has no other years; PyTorch finds that out only when it tells of the failure.
std::int64_t to_seconds(const json& value) {
  const auto in_time = [](auto seconds) {
    if (!(seconds >= kYear1 && seconds < kYear10000)) {
      throw std::runtime_error("the year of the timestamp is out of range");
    }
    return static_cast<std::int64_t>(seconds);
  };
  if (!value.is_string()) return in_time(value.get<double>());
  constexpr const char* kBlank = " \t\n\r\f\v";
  const std::string& text = value.get_ref<const std::string&>();
  const std::size_t length = text.find_last_not_of(kBlank) + 1;  // npos + 1 is 0
  const std::size_t first = std::min(text.find_first_not_of(kBlank), length);
  const char* const end = text.data() + length;
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data() + first, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw std::runtime_error("\"" + text + "\" is no timestamp");
  }
  return in_time(seconds);
}

/// Says what the exit status says where the worker has not told more
/// (ProcessFailure.__post_init__). PyTorch puts the traits into the one constant that stands for
/// all missing files, so that later failures of the process, by signals too, have them as well;
/// here each failure has its own.
void complete(ProcessFailure& failure, Variant variant) {
  if (failure.exit_code < 0) {
    HOOKE_CHECK(-failure.exit_code <= 64, "a worker is killed by one of Linux' signals");
    failure.message = "Signal " + std::to_string(-failure.exit_code) + " (" +
                      std::string(signal_name(-failure.exit_code)) + ") received by PID " +
                      std::to_string(failure.pid.value);
    return;
  }
  failure.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
  if (!says_error_traits(variant)) return;
  auto data = nlohmann::ordered_json::parse(failure.error_data);
  data["errorTraits"] = {{"category", "system_terminated_error"}, {"retryability", "False"}};
  failure.error_data = data.dump();
}

}  // namespace

std::string_view signal_name(int number) {
  constexpr std::array<std::string_view, 31> kNames{
      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",  "SIGFPE",
      "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
      "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",  "SIGXCPU",
      "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
  const bool known = number >= 1 && number <= static_cast<int>(kNames.size());
  return known ? kNames[static_cast<std::size_t>(number - 1)] : "<N/A>";
}

void read_error_file(const std::string& text, ProcessFailure& failure) {
  failure.error_data = text;
  const json document = json::parse(text);
  const json& message = document.at("message");
  if (message.is_string()) {
    failure.timestamp = document.contains("timestamp") ? to_seconds(document.at("timestamp")) : 0;
    failure.message = message.get<std::string>();
    return;
  }
  failure.timestamp = to_seconds(message.at("extraInfo").at("timestamp"));
  const auto words = message.find("message");
  failure.message = words != message.end() && words->is_string() ? words->get<std::string>()
                                                                 : std::string("<N/A>");
}

ProcessFailure describe_without_file(sim::Ports& ports, ProcessFailure failure, Variant variant) {
  HOOKE_CHECK(failure.exit_code != 0, "only what ended badly is a failure");
  failure.error_file = "<N/A>";
  failure.error_data = ProcessFailure{}.error_data;
  failure.timestamp =
      std::chrono::floor<std::chrono::seconds>(ports.clock.wall_now()).time_since_epoch().count();
  complete(failure, variant);
  return failure;
}

ProcessFailure describe_failure(sim::Ports& ports, ProcessFailure failure,
                                const std::string& error_file, Variant variant) {
  HOOKE_CHECK(failure.exit_code != 0, "only what ended badly is a failure");
  // Its name is looked for first, which waits for no disk.
  if (!ports.files.exists(error_file))
    return describe_without_file(ports, std::move(failure), variant);
  const auto text = ports.files.read(error_file);
  if (!text && text.failure().fault != sim::Fault::not_found) {
    throw std::runtime_error("error file " + error_file +
                             " cannot be read: " + std::string(to_string(text.failure().fault)));
  }
  if (!text) return describe_without_file(ports, std::move(failure), variant);
  failure.error_file = error_file;
  try {
    read_error_file(text.value(), failure);
  } catch (const std::exception& error) {
    throw std::runtime_error("error file " + error_file +
                             " is not what a worker writes: " + error.what());
  }
  if (failure.message.empty()) complete(failure, variant);
  return failure;
}

const ProcessFailure& first_failure(const ProcessFailures& failures) {
  HOOKE_CHECK(!failures.empty(), "a failed group has a failure");
  return *std::min_element(
      failures.begin(), failures.end(),
      [](const ProcessFailure& a, const ProcessFailure& b) { return a.timestamp < b.timestamp; });
}

}  // namespace hooke::model
