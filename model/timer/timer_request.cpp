// JSON lines with Python's separators.
#include "model/timer/timer_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hooke::model {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

/// What a text names in an error, without flooding it.
constexpr std::size_t kShownBytes = 80;

[[noreturn]] void refuse(std::string_view line, const std::string& what) {
  std::string shown(line.substr(0, kShownBytes));
  if (line.size() > kShownBytes) shown += "...";
  throw std::invalid_argument("timer request " +
                              json(shown).dump(-1, ' ', true, json::error_handler_t::replace) +
                              ": " + what);
}

const json& member(std::string_view line, const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(line, std::string("/") + name + " is missing");
  return *found;
}

template <class Integer>
Integer integer_member(std::string_view line, const json& object, const char* name) {
  const json& value = member(line, object, name);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <=
                              static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())
                        : value.is_number_integer() &&
                              value.get<std::int64_t>() >= std::numeric_limits<Integer>::min();
  if (!fits) refuse(line, std::string("/") + name + " must be a whole number");
  return value.get<Integer>();
}

}  // namespace

std::string encode_timer_request(const TimerRequest& request) {
  std::string deadline = "-1";
  if (request.expires) {
    const auto us = std::chrono::floor<microseconds>(request.expires->time_since_epoch());
    deadline = json(static_cast<double>(us.count()) / 1e6).dump();
  }
  return R"({"version": 1, "pid": )" + std::to_string(request.worker_id) + R"(, "scope_id": )" +
         json(request.scope_id).dump(-1, ' ', true, json::error_handler_t::replace) +
         R"(, "expiration_time": )" + deadline + R"(, "signal": )" +
         std::to_string(request.expires ? request.signal : 0) + "}";
}

TimerRequest parse_timer_request(std::string_view line) {
  json object;
  try {
    object = json::parse(line);
  } catch (const json::parse_error& error) {
    refuse(line, "no JSON at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    refuse(line, "a number is too large");
  }
  if (!object.is_object()) refuse(line, "a JSON object was expected");
  TimerRequest request;
  request.worker_id = integer_member<std::int64_t>(line, object, "pid");
  const json& scope = member(line, object, "scope_id");
  if (!scope.is_string()) refuse(line, "/scope_id must be a text");
  request.scope_id = scope.get<std::string>();
  const json& when = member(line, object, "expiration_time");
  constexpr double kSecondsMax = 9e9;  // what a 64-bit count of nanoseconds holds
  if (!when.is_number()) refuse(line, "/expiration_time must be a number of seconds");
  // A time that no clock will show never comes.
  if (const double seconds = std::min(when.get<double>(), kSecondsMax); seconds >= 0) {
    request.expires = sim::WallTime(microseconds(std::llround(seconds * 1e6)));
  }
  request.signal = integer_member<int>(line, object, "signal");
  return request;
}

}  // namespace hooke::model
