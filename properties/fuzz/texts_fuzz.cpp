// Texts that strangers have written where the elastic protocol reads: the state of a legacy
// rendezvous, an event, a worker's error file, its environment. Each is refused with a reason, or
// understood: what can be written again is, and of a failure there is a summary.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/observe/elastic_event.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "model/worker/failure_summary.h"
#include "model/worker/launch_environment.h"
#include "model/worker/process_failure.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const model::LegacyState state = model::parse_legacy_state(text);
    if (model::parse_legacy_state(model::encode_legacy_state(state)) != state) std::abort();
  } catch (const std::invalid_argument&) {
  }
  try {
    const std::string event = model::encode_elastic_event(model::parse_elastic_event(text));
    if (model::encode_elastic_event(model::parse_elastic_event(event)) != event) std::abort();
  } catch (const std::invalid_argument&) {
  }
  try {
    model::ProcessFailure failure;
    failure.exit_code = 1;
    model::read_error_file(std::string(text), failure);
    if (model::failure_summary("train.py", {failure}, "host").empty()) std::abort();
  } catch (const nlohmann::json::exception&) {
  } catch (const std::runtime_error&) {
  }
  try {
    std::map<std::string, std::string> environment;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      const std::size_t equals = std::min(line.find('='), line.size());
      environment[line.substr(0, equals)] = line.substr(std::min(equals + 1, line.size()));
    }
    static_cast<void>(model::read_launch_environment(environment));
  } catch (const model::EscapedPythonError&) {
  }
  return 0;
}
