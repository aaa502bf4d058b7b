// Members in PyTorch's order; those that a status does not have are not written.
#include "model/rendezvous/legacy_etcd/state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "model/etcd/json_text.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;
using Status = LegacyState::Status;

constexpr std::array<std::string_view, 5> kNames{"setup", "joinable", "frozen", "final", "closed"};

void quote(std::string& out, const std::string& text) {
  // Most keys are written as they are.
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += json(text).dump(-1, ' ', true, json::error_handler_t::replace);
  }
}

template <class Item, class Write>
void append_list(std::string& out, const std::vector<Item>& items, Write write) {
  const char* between = "[";
  for (const Item& item : items) {
    out += std::exchange(between, ", ");
    write(out, item);
  }
  out += items.empty() ? "[]" : "]";
}

// What a state of its status has.
bool lacks_version(const LegacyState& state) {
  const bool needs = state.status != Status::setup && state.status != Status::closed;
  return needs && (!state.version || !state.participants);
}
bool lacks_keep_alives(const LegacyState& state) {
  const bool needs = state.status == Status::frozen || state.status == Status::final_;
  return needs && !state.keep_alives;
}
bool lacks_count(const LegacyState& state) {
  return state.status == Status::final_ && !state.num_workers_waiting;
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("rendezvous state: " + what);
}

std::int64_t integer_of(const json& value, const std::string& place) {
  const bool small =
      value.is_number_integer() && std::abs(value.get<double>()) <= double{kLargestLegacyNumber};
  if (!small) refuse(place + " must be a whole number of at most 53 bits");
  return value.get<std::int64_t>();
}

std::string text_of(const json& value, const std::string& place) {
  if (!value.is_string()) refuse(place + " must be a text");
  return value.get<std::string>();
}

template <class Item, class Read>
std::vector<Item> items_of(const json& value, const std::string& place, Read read) {
  if (!value.is_array()) refuse(place + " must be a list");
  std::vector<Item> out;
  for (const json& item : value)
    out.push_back(read(item, place + "/" + std::to_string(out.size())));
  return out;
}

}  // namespace

LegacyState joinable_legacy_state(std::int64_t version) {
  HOOKE_CHECK(version >= 0, "versions are numbered from 0");
  LegacyState state;
  state.status = Status::joinable;
  state.version = version;
  state.participants.emplace();
  return state;
}

std::string encode_legacy_state(const LegacyState& state) {
  HOOKE_CHECK(!lacks_version(state) && !lacks_keep_alives(state) && !lacks_count(state),
              "a state that is written can be read");
  HOOKE_CHECK(static_cast<std::size_t>(state.status) < kNames.size(), "each status has a name");
  HOOKE_CHECK(!state.version || *state.version >= 0, "versions are numbered from 0");
  std::string out =
      R"({"status": ")" + std::string(kNames[static_cast<std::size_t>(state.status)]) + "\"";
  if (state.version) out += R"(, "version": ")" + std::to_string(*state.version) + "\"";
  if (state.participants) {
    out += R"(, "participants": )";
    append_list(out, *state.participants,
                [](std::string& to, std::int64_t rank) { to += std::to_string(rank); });
  }
  if (state.keep_alives) {
    out += R"(, "keep_alives": )";
    append_list(out, *state.keep_alives, quote);
  }
  if (state.num_workers_waiting) {
    out += R"(, "num_workers_waiting": )" + std::to_string(*state.num_workers_waiting);
  }
  return out + "}";
}

LegacyState parse_legacy_state(std::string_view text) {
  json document;
  try {
    auto plain = plain_json(text);
    document = plain ? std::move(*plain) : json::parse(text);
  } catch (const json::parse_error& error) {
    refuse("no JSON at byte " + std::to_string(error.byte));
  } catch (const json::exception&) {
    refuse("a number is too large");
  }
  if (!document.is_object()) refuse("a JSON object was expected");
  const auto member = [&](const char* name) -> const json* {
    const auto found = document.find(name);
    return found == document.end() ? nullptr : &*found;
  };
  LegacyState state;
  const json* const status = member("status");
  if (status == nullptr) refuse("/status is missing");
  const auto name = std::find(kNames.begin(), kNames.end(), text_of(*status, "/status"));
  if (name == kNames.end()) refuse("/status must be setup, joinable, frozen, final or closed");
  state.status = static_cast<Status>(name - kNames.begin());
  if (const json* const value = member("version")) {
    state.version = parse_legacy_version(text_of(*value, "/version"), "/version");
  }
  if (const json* const value = member("participants")) {
    state.participants = items_of<std::int64_t>(*value, "/participants", integer_of);
  }
  if (const json* const value = member("keep_alives")) {
    state.keep_alives = items_of<std::string>(*value, "/keep_alives", text_of);
  }
  if (const json* const value = member("num_workers_waiting")) {
    state.num_workers_waiting = integer_of(*value, "/num_workers_waiting");
  }
  if (lacks_version(state)) {
    refuse("/version and /participants are needed when /status is " + std::string(*name));
  }
  if (lacks_keep_alives(state)) refuse("/keep_alives is missing");
  if (lacks_count(state)) refuse("/num_workers_waiting is missing");
  return state;
}

std::shared_ptr<const LegacyState> decode_legacy_state(const sim::Value& shared,
                                                       const std::string& text) {
  const auto* const kept = dynamic_cast<const StoredText*>(shared.payload().get());
  if (kept == nullptr) return std::make_shared<const LegacyState>(parse_legacy_state(text));
  std::shared_ptr<const void>& reading = kept->reading(StoredText::kAsLegacyState);
  if (reading == nullptr) reading = std::make_shared<const LegacyState>(parse_legacy_state(text));
  return std::static_pointer_cast<const LegacyState>(reading);
}

std::int64_t parse_legacy_version(std::string_view text, std::string_view place) {
  std::int64_t version = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, version);
  if (read.ec != std::errc() || read.ptr != end || version < 0 || version > kLargestLegacyNumber)
    refuse(std::string(place) + " must be a whole number in digits, not \"" + std::string(text) +
           "\"");
  return version;
}

}  // namespace hooke::model
