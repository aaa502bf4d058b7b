#pragma once
// What the kinds of simplification have in common: halving a list, editing a place of the JSON
// text, round numbers. Internal to the files of simplifications.h.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/hunt/shrink_search.h"

namespace hooke::hunt {

using Pointer = nlohmann::ordered_json::json_pointer;

/// Spans that a person would write, the shortest first.
inline constexpr std::array<sim::Duration, 14> kSpans = [] {
  using namespace std::chrono_literals;
  return std::array<sim::Duration, 14>{1s,   2s,   5s,    10s,   20s,   30s, 60s,
                                       2min, 5min, 10min, 20min, 30min, 1h,  2h};
}();
/// More names say less than their number.
inline constexpr std::size_t kNamesMax = 4;

/// Delta debugging: `drop(first, count)` for all of `size()` elements, halves, quarters, single
/// ones; what it takes away (true) is gone.
void drop_chunks(const std::function<std::size_t()>& size,
                 const std::function<bool(std::size_t first, std::size_t count)>& drop);
/// "timeline/0/at".
std::string name_of_place(const Pointer& place);
/// Tries the scenario with this value at all of the places; true when it still fails.
bool put(ShrinkSearch& search, const std::vector<Pointer>& places,
         const nlohmann::ordered_json& value);
/// `number` with only its first `digits` digits, down and up.
std::array<std::int64_t, 2> rounded(std::int64_t number, int digits);
/// The span with one, two and three digits of its largest whole unit.
std::vector<sim::Duration> rounded_spans(sim::Duration span);

}  // namespace hooke::hunt
