// The order of the header.
#include "scenarios/hunt/simplification_steps.h"

#include <fmt/format.h>

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;

/// Largest whole units first, so that 90 s become 80 s or 100 s and not 1 m or 2 m.
sim::Duration unit_of(sim::Duration span) {
  for (const sim::Duration unit : {sim::Duration(1s), sim::Duration(1ms), sim::Duration(1us)}) {
    if (span >= unit) return unit;
  }
  return 1ns;
}

std::string text_of_value(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

void drop_chunks(const std::function<std::size_t()>& size,
                 const std::function<bool(std::size_t first, std::size_t count)>& drop) {
  for (std::size_t chunk = size(); chunk > 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    for (std::size_t first = 0; first < size();) {
      if (!drop(first, std::min(chunk, size() - first))) first += chunk;
    }
  }
}

std::string name_of_place(const Pointer& place) {
  const std::string text = place.to_string();
  return text.empty() ? "scenario" : text.substr(1);
}

bool put(ShrinkSearch& search, const std::vector<Pointer>& places, const ordered_json& value) {
  ordered_json candidate = search.json();
  const std::string before = text_of_value(candidate.at(places.front()));
  std::vector<std::string> names;
  for (const Pointer& place : places) {
    candidate.at(place) = value;
    names.push_back(name_of_place(place));
  }
  return search.attempt(candidate, fmt::format("{} {} instead of {}", fmt::join(names, ", "),
                                               text_of_value(value), before));
}

std::array<std::int64_t, 2> rounded(std::int64_t number, int digits) {
  std::int64_t unit = 1;
  for (std::int64_t rest = number; rest >= 10; rest /= 10) unit *= 10;
  for (int i = 1; i < digits && unit > 1; ++i) unit /= 10;
  const std::int64_t down = number / unit * unit;
  return {down, down + unit};
}

std::vector<sim::Duration> rounded_spans(sim::Duration span) {
  const sim::Duration unit = unit_of(span);
  std::vector<sim::Duration> out;
  for (const int digits : {1, 2, 3}) {
    for (const std::int64_t count : rounded(span / unit, digits)) out.push_back(unit * count);
  }
  return out;
}

}  // namespace hooke::hunt
