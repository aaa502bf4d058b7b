// One pass over the text; every number is checked before it is used.
#include "model/plugin/plugin_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kLongest = 24h;

/// For a message of one line and of some length, whatever was given.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out(text.substr(0, kShown));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return '"' + out + (text.size() > kShown ? "\"…" : "\"");
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<sim::Duration> whole_span(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    sim::Duration length;
  };
  constexpr std::array kUnits{Unit{"ns", 1ns}, Unit{"us", 1us}, Unit{"ms", 1ms},
                              Unit{"s", 1s},   Unit{"m", 1min}, Unit{"h", 1h}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto number = whole_number(text.substr(0, text.size() - unit.suffix.size()));
    if (!number) continue;
    if (*number < 0 || *number > kLongest / unit.length) return std::nullopt;
    return *number * unit.length;
  }
  return std::nullopt;
}

}  // namespace

std::string quoted_name(const std::string& name) {
  return quoted(name);
}

PluginChoice PluginChoice::parse(const std::string& text) {
  const auto refused = [&] {
    throw std::invalid_argument("expected NAME or NAME:KEY=VALUE,KEY=VALUE, got " + quoted(text));
  };
  PluginChoice choice;
  const std::size_t colon = text.find(':');
  choice.name = text.substr(0, colon);
  if (choice.name.empty()) refused();
  std::string_view rest = text;
  rest = colon == std::string::npos ? std::string_view() : rest.substr(colon + 1);
  if (colon != std::string::npos && rest.empty()) refused();
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos) refused();
    const auto [entry, fresh] =
        choice.options.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    if (!fresh) {
      throw std::invalid_argument(quoted(text) + ": the option " + quoted(entry->first) +
                                  " is given twice");
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) refused();
  }
  return choice;
}

void PluginChoice::refuse(const std::string& key, const std::string& expected) const {
  throw std::invalid_argument("option " + quoted(key) + " of " + quoted(name) + ": expected " +
                              expected + ", got " + quoted(text(key, "")));
}

void PluginChoice::allow(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : options) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string known;
    for (const std::string& each : keys) known += (known.empty() ? "" : ", ") + each;
    throw std::invalid_argument(quoted(name) + " has no option " + quoted(key) + "; it has " +
                                (known.empty() ? "none" : known));
  }
}

std::string PluginChoice::text(const std::string& key, const std::string& usual) const {
  HOOKE_CHECK(!key.empty(), "an option has a name");
  const auto found = options.find(key);
  return found == options.end() ? usual : found->second;
}

std::int64_t PluginChoice::integer(const std::string& key, std::int64_t low, std::int64_t high,
                                   std::int64_t usual) const {
  HOOKE_CHECK(low <= usual && usual <= high, "what is usual is allowed");
  const auto found = options.find(key);
  if (found == options.end()) return usual;
  const auto number = whole_number(found->second);
  if (!number || *number < low || *number > high) {
    refuse(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return *number;
}

sim::Duration PluginChoice::span(const std::string& key, sim::Duration usual) const {
  HOOKE_CHECK(usual >= sim::Duration::zero(), "a span has a length");
  const auto found = options.find(key);
  if (found == options.end()) return usual;
  const auto span = whole_span(found->second);
  if (!span) refuse(key, "a whole number with a unit such as \"500ms\", at most 24h");
  HOOKE_CHECK(*span >= sim::Duration::zero(), "a span has a length");
  return *span;
}

}  // namespace hooke::model
