// Typed access to configuration texts.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "model/observe/python_numbers.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/longest_span.h"
#include "sim/port/check.h"

namespace hooke::model {

void RendezvousParameters::validate() const {
  if (backend.empty())
    throw std::invalid_argument("the rendezvous backend name must be a non-empty string");
  if (min_nodes < 1) {
    throw std::invalid_argument(
        "the minimum number of rendezvous nodes must be greater than zero, it is " +
        std::to_string(min_nodes));
  }
  if (max_nodes < min_nodes) {
    throw std::invalid_argument("the maximum number of rendezvous nodes (" +
                                std::to_string(max_nodes) + ") must not be below the minimum (" +
                                std::to_string(min_nodes) + ")");
  }
}

std::optional<std::string> RendezvousParameters::get(const std::string& key) const {
  HOOKE_CHECK(!key.empty(), "an option has a name");
  const auto found = config.find(key);
  if (found == config.end()) return std::nullopt;
  return found->second;
}

std::optional<bool> RendezvousParameters::get_as_bool(const std::string& key) const {
  const auto value = get(key);
  if (!value) return std::nullopt;
  std::string text = *value;
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const char* yes : {"1", "true", "t", "yes", "y"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "false", "f", "no", "n"}) {
    if (text == no) return false;
  }
  throw std::invalid_argument("the rendezvous configuration option \"" + key +
                              "\" is no boolean: \"" + *value + "\"");
}

std::optional<std::int64_t> RendezvousParameters::get_as_int(const std::string& key) const {
  const auto value = get(key);
  if (!value) return std::nullopt;
  const auto number = python_int(*value);
  if (!number) {
    throw std::invalid_argument("the rendezvous configuration option \"" + key +
                                "\" is no integer: \"" + *value + "\"");
  }
  return number;
}

std::optional<sim::Duration> RendezvousParameters::get_as_seconds(const std::string& key) const {
  using namespace std::chrono_literals;
  const auto value = get(key);
  if (!value) return std::nullopt;
  struct Unit {
    std::string_view suffix;
    sim::Duration length;
  };
  const auto span = [&](std::int64_t number, sim::Duration unit) -> sim::Duration {
    if (std::abs(std::chrono::duration<double>(unit).count() * static_cast<double>(number)) <=
        std::chrono::duration<double>(kLongestSpan).count())
      return number * unit;
    throw std::invalid_argument("the rendezvous configuration option \"" + key +
                                "\" is longer than 100 years: \"" + *value + "\"");
  };
  for (const Unit& unit : {Unit{"ns", 1ns}, Unit{"us", 1us}, Unit{"ms", 1ms}, Unit{"s", 1s}}) {
    if (!value->ends_with(unit.suffix)) continue;
    if (const auto number = python_int(value->substr(0, value->size() - unit.suffix.size()))) {
      return span(*number, unit.length);
    }
  }
  HOOKE_CHECK(!key.empty() && value.has_value(), "a number is read from what is there");
  return span(*get_as_int(key), 1s);
}

}  // namespace hooke::model
