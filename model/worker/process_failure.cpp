// Reading error files, tolerating nothing: PyTorch does not either.
#include "model/worker/process_failure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hooke::model {
namespace {

using nlohmann::json;

std::int64_t to_seconds(const json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<std::int64_t>();
}

std::string generated_message(int exit_code, sim::Pid pid) {
  if (exit_code >= 0)
    return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
  const auto signal = static_cast<sim::Signal>(-exit_code);
  return "Signal " + std::to_string(-exit_code) + " (" + std::string(to_string(signal)) +
         ") received by PID " + std::to_string(pid.value);
}

}  // namespace

ProcessFailure describe_failure(sim::Ports& ports, std::int64_t local_rank, sim::Pid pid,
                                int exit_code, const std::string& error_file) {
  ProcessFailure failure{local_rank, pid, exit_code, "<N/A>", 0, ""};
  if (error_file.empty() || !ports.files.exists(error_file)) {
    failure.timestamp =
        std::chrono::floor<std::chrono::seconds>(ports.clock.wall_now()).time_since_epoch().count();
    failure.message = generated_message(exit_code, pid);
    return failure;
  }
  const auto text = ports.files.read(error_file);
  if (!text) throw std::runtime_error("error file " + error_file + " cannot be read");
  try {
    const json document = json::parse(text.value());
    const json& message = document.at("message");
    failure.error_file = error_file;
    if (message.is_string()) {
      failure.timestamp = document.contains("timestamp") ? to_seconds(document.at("timestamp")) : 0;
      failure.message = message.get<std::string>();
    } else {
      failure.timestamp = to_seconds(message.at("extraInfo").at("timestamp"));
      failure.message = message.dump();
    }
  } catch (const std::exception& error) {
    throw std::runtime_error("error file " + error_file +
                             " is not what a worker writes: " + error.what());
  }
  if (failure.message.empty()) failure.message = generated_message(exit_code, pid);
  return failure;
}

const ProcessFailure& first_failure(const std::map<std::int64_t, ProcessFailure>& failures) {
  return std::min_element(
             failures.begin(), failures.end(),
             [](const auto& a, const auto& b) { return a.second.timestamp < b.second.timestamp; })
      ->second;
}

}  // namespace hooke::model
