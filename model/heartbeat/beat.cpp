// JSON, read strictly: a stranger on the port must not keep a worker alive.
#include "model/heartbeat/beat.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hooke::model {
namespace {

using nlohmann::json;

constexpr std::size_t kNameBytesMax = 256;
/// What a text names in an error, without flooding it.
constexpr std::size_t kShownBytes = 80;

[[noreturn]] void refuse(std::string_view line, const std::string& what) {
  std::string shown(line.substr(0, kShownBytes));
  if (line.size() > kShownBytes) shown += "...";
  throw std::invalid_argument(
      "heartbeat " + json(shown).dump(-1, ' ', true, json::error_handler_t::replace) + ": " + what);
}

}  // namespace

std::string encode_beat(const Beat& beat) {
  return R"({"worker": )" + json(beat.worker).dump(-1, ' ', true, json::error_handler_t::replace) +
         R"(, "beat": )" + std::to_string(beat.count) + (beat.last ? R"(, "last": true)" : "") +
         (beat.asks ? R"(, "peers": true})" : "}");
}

Beat parse_beat(std::string_view line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::parse_error& error) {
    refuse(line, "no JSON at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    refuse(line, "a number is too large");
  }
  if (!object.is_object()) refuse(line, "a JSON object was expected");
  const json missing;
  const auto member = [&](const char* name) -> const json& {
    const auto found = object.find(name);
    return found == object.end() ? missing : *found;
  };
  Beat beat;
  const json& worker = member("worker");
  if (!worker.is_string() || worker.get_ref<const std::string&>().empty() ||
      worker.get_ref<const std::string&>().size() > kNameBytesMax) {
    refuse(line, "/worker must be a name of 1 to " + std::to_string(kNameBytesMax) + " bytes");
  }
  beat.worker = worker.get<std::string>();
  const json& count = member("beat");
  if (!count.is_number_unsigned()) refuse(line, "/beat must be a whole number from 0 on");
  beat.count = count.get<std::uint64_t>();
  const auto truth = [&](const char* name) {
    const json& value = member(name);
    if (!value.is_null() && !value.is_boolean()) {
      refuse(line, "/" + std::string(name) + " must be true or false");
    }
    return value.is_boolean() && value.get<bool>();
  };
  beat.last = truth("last");
  beat.asks = truth("peers");
  return beat;
}

}  // namespace hooke::model
