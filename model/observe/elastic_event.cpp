// Members and separators as Python's json.dumps has them.
#include "model/observe/elastic_event.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/observe/python_error.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string text_of(const ElasticEvent::Datum& datum) {
  struct Writer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(const std::string& text) const { return dumped(text); }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return dumped(number); }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  };
  return std::visit(Writer{}, datum);
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("event: " + what);
}

ElasticEvent::Datum datum_of(const std::string& key, const Json& value) {
  if (value.is_null()) return std::monostate{};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  refuse("/metadata/" + key + " must be a text, a number, true, false or null");
}

/// Python's levels up to INFO let an event through.
bool shows_info(const sim::ProcessHost& processes) {
  constexpr std::array<std::string_view, 5> kQuieter{"WARNING", "WARN", "ERROR", "CRITICAL",
                                                     "FATAL"};
  const auto level = processes.environment().find("LOGLEVEL");
  return level == processes.environment().end() ||
         std::find(kQuieter.begin(), kQuieter.end(), level->second) == kQuieter.end();
}

}  // namespace

std::string encode_elastic_event(const ElasticEvent& event) {
  std::string metadata;
  for (const auto& [key, value] : event.metadata) {
    metadata += (metadata.empty() ? "" : ", ") + dumped(key) + ": " + text_of(value);
  }
  return R"({"name": )" + dumped(event.name) + R"(, "source": ")" +
         (event.source == ElasticEvent::Source::agent ? "AGENT" : "WORKER") +
         R"(", "timestamp": )" + std::to_string(event.timestamp) + R"(, "metadata": {)" + metadata +
         "}}";
}

ElasticEvent parse_elastic_event(std::string_view text) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse("no JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    refuse("a number is too large");
  }
  if (!document.is_object()) refuse("a JSON object was expected");
  ElasticEvent event;
  for (const auto& [key, value] : document.items()) {
    if (key == "name") {
      if (!value.is_string()) refuse("/name must be a text");
      event.name = value.get<std::string>();
    } else if (key == "source") {
      if (value != "AGENT" && value != "WORKER") refuse("/source must be AGENT or WORKER");
      event.source = value == "AGENT" ? ElasticEvent::Source::agent : ElasticEvent::Source::worker;
    } else if (key == "timestamp") {
      if (!value.is_number_integer()) refuse("/timestamp must be a whole number");
      event.timestamp = value.get<std::int64_t>();
    } else if (key == "metadata") {
      if (!value.is_object()) refuse("/metadata must be an object");
      for (const auto& [name, datum] : value.items()) {
        event.metadata.emplace_back(name, datum_of(name, datum));
      }
    } else {
      refuse("/" + key + " is not a member of an event");
    }
  }
  for (const char* needed : {"name", "source"}) {
    if (!document.contains(needed)) refuse(std::string("/") + needed + " is missing");
  }
  return event;
}

EventHandlers::EventHandlers(sim::Ports& ports) : shown_(shows_info(ports.processes)) {
  add("null", [](const ElasticEvent&) {});
  add("dynamic_rendezvous", [](const ElasticEvent&) {});
  add("console", [&ports](const ElasticEvent& event) {
    static_cast<void>(ports.files.append("/dev/stderr", encode_elastic_event(event) + "\n"));
  });
}

void EventHandlers::record(const ElasticEvent& event, const std::string& destination) const {
  HOOKE_CHECK(!event.name.empty(), "an event that is recorded has a name");
  const auto found = handlers_.find(destination);
  if (found == handlers_.end()) throw EscapedPythonError("KeyError", "'" + destination + "'");
  if (shown_) found->second(event);
}

}  // namespace hooke::model
