// The block of text first, then the files.
#include "model/worker/failure_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidthMax = 60;

/// "2031-01-02_03:04:05Z": the world has no local time to tell, so it says which it is.
std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto padded = [](auto number) {
    const std::string digits = std::to_string(number);
    return digits.size() < 2 ? "0" + digits : digits;
  };
  return std::to_string(static_cast<int>(date.year())) + "-" +
         padded(static_cast<unsigned>(date.month())) + "-" +
         padded(static_cast<unsigned>(date.day())) + "_" + padded(clock.hours().count()) + ":" +
         padded(clock.minutes().count()) + ":" + padded(clock.seconds().count()) + "Z";
}

/// Where the worker says it failed, else what it says, else what its end says.
std::string traceback_of(const ProcessFailure& failure) {
  const Json document = Json::parse(failure.error_data, nullptr, false);
  if (failure.error_file == "<N/A>" || !document.is_object()) return failure.message;
  const auto message = document.find("message");
  if (message == document.end() || !message->is_object()) return failure.message;
  const auto extra = message->find("extraInfo");
  if (extra != message->end() && extra->is_object() && extra->contains("py_callstack") &&
      (*extra)["py_callstack"].is_string()) {
    return (*extra)["py_callstack"].get<std::string>();
  }
  return failure.message;
}

std::vector<std::string> lines_of(const ProcessFailure& failure, std::size_t index,
                                  const std::string& host) {
  std::string traceback;
  for (const char c : traceback_of(failure)) {
    traceback += c;
    if (c == '\n') traceback += "  ";
  }
  return {
      "[" + std::to_string(index) + "]:",
      "  time      : " + time_text(failure.timestamp),
      "  host      : " + host,
      "  rank      : " + std::to_string(failure.rank) +
          " (local_rank: " + std::to_string(failure.local_rank) + ")",
      "  exitcode  : " + std::to_string(failure.exit_code) +
          " (pid: " + std::to_string(failure.pid.value) + ") " +
          (failure.exit_code < 0 ? " (" + std::string(signal_name(-failure.exit_code)) + ")" : ""),
      "  error_file: " + failure.error_file,
      "  traceback : " + traceback};
}

/// As Python's json.dumps() spaces it.
std::string python_json(const Json& document) {
  std::string out;
  bool in_text = false;
  bool is_escaped = false;
  for (const char c : document.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    out += c;
    if (c == '"' && !is_escaped) in_text = !in_text;
    is_escaped = c == '\\' && !is_escaped;
    if (!in_text && (c == ',' || c == ':')) out += ' ';
  }
  HOOKE_CHECK(!in_text, "each text of a document has an end");
  return out;
}

/// The file that this process has been told to write its error to; empty for none.
std::string own_error_file(const sim::ProcessHost& processes) {
  const auto found = processes.environment().find("TORCHELASTIC_ERROR_FILE");
  return found == processes.environment().end() ? std::string() : found->second;
}

}  // namespace

bool runs_script_path(const std::vector<std::string>& command) {
  constexpr std::size_t kProgram = 3;  // behind the interpreter, -u and -c
  return command.size() > kProgram &&
         command[kProgram].find(std::string("def ") + kRunScriptPathName) != std::string::npos;
}

std::string entry_point_name(const std::vector<std::string>& command) {
  HOOKE_CHECK(!command.empty(), "something is run");
  if (runs_script_path(command)) return kRunScriptPathName;
  const std::string program = command.front().substr(command.front().rfind('/') + 1);
  if (!program.starts_with("python")) return command.front();
  const auto script =
      std::find_if(command.begin() + 1, command.end(),
                   [](const std::string& argument) { return !argument.starts_with('-'); });
  return script == command.end() ? std::string() : *script;
}

std::string failure_summary(const std::string& name, const ProcessFailures& failures,
                            const std::string& host, const ProcessFailure& root) {
  HOOKE_CHECK(&root >= failures.data() && &root < failures.data() + failures.size(),
              "the root cause is one of the failures");
  const std::string title = name + " FAILED";
  std::size_t width = title.size();
  std::string others, root_text;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    std::string& text = &failures[i] == &root ? root_text : others;
    for (const std::string& line : lines_of(failures[i], i, host)) {
      width = std::max(width, line.size());
      text += line + "\n";
    }
  }
  width = std::min(width, kWidthMax);
  HOOKE_CHECK(!root_text.empty(), "the root cause is told");
  HOOKE_CHECK(others.empty() == (failures.size() == 1), "each of the other failures is told");
  HOOKE_CHECK(width >= std::min(title.size(), kWidthMax), "a border is as wide as the title");
  const std::string border = std::string(width, '=') + "\n";
  const std::string section = std::string(width, '-') + "\n";
  return "\n" + border + title + "\n" + section + "Failures:\n" +
         (others.empty() ? "  <NO_OTHER_FAILURES>\n" : others) + section +
         "Root Cause (first observed failure):\n" + root_text + border;
}

std::string failure_summary(const std::string& name, const ProcessFailures& failures,
                            const std::string& host) {
  return failure_summary(name, failures, host, first_failure(failures));
}

void pass_on_error_file(sim::Ports& ports, const ProcessFailure& root) {
  const std::string path = own_error_file(ports.processes);
  if (path.empty() || root.error_file == "<N/A>") return;
  Json document = Json::parse(root.error_data, nullptr, false);
  if (!document.is_object()) return;
  if (root.exit_code != 0 && document.contains("message") && document["message"].is_object()) {
    document["message"]["errorCode"] = root.exit_code;
  }
  static_cast<void>(ports.files.write(path, python_json(document)));
}

void record_error(sim::Ports& ports, const std::string& message) {
  const std::string path = own_error_file(ports.processes);
  if (path.empty()) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(ports.clock.wall_now());
  const Json document{{"message",
                       {{"message", message},
                        {"extraInfo",
                         {{"py_callstack", message},
                          {"timestamp", std::to_string(now.time_since_epoch().count())}}}}}};
  static_cast<void>(ports.files.write(path, python_json(document)));
}

}  // namespace hooke::model
