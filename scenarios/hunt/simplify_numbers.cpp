// A number or span is lowered alone; moments that are equal are lowered together first.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/format/duration.h"
#include "scenarios/hunt/simplification_steps.h"
#include "scenarios/hunt/simplifications.h"

namespace hooke::hunt {
namespace {

using nlohmann::ordered_json;
using scenario::Scenario;

/// Every value that is no list and no object, below `place`.
void leaves_below(const ordered_json& json, const Pointer& place, std::vector<Pointer>& out) {
  if (!json.is_structured()) return out.push_back(place);
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    leaves_below(value, json.is_array() ? place / index++ : place / key, out);
  }
}

void lower_integer(ShrinkSearch& search, const Pointer& place, std::int64_t number) {
  const std::int64_t sign = number < 0 ? -1 : 1;
  const std::int64_t size = number * sign;
  std::vector<std::int64_t> sizes{0, 1, 2, size / 2, size - 1};
  for (const int digits : {1, 2}) {
    for (const std::int64_t round : rounded(size, digits)) sizes.push_back(round);
  }
  for (const std::int64_t candidate : sizes) {
    if (candidate != size && put(search, {place}, candidate * sign)) return;
  }
}

/// The shortest of the usual spans that still does; where a longer one fails, a shorter one mostly
/// does, too.
bool shorten(ShrinkSearch& search, const std::vector<Pointer>& places, sim::Duration span) {
  const auto try_span = [&](sim::Duration shorter) {
    return put(search, places, scenario::duration_text(shorter));
  };
  const auto end = std::lower_bound(kSpans.begin(), kSpans.end(), span);
  auto low = kSpans.begin();
  if (low == end) return false;
  if (try_span(*low)) return true;
  auto high = end;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (try_span(*middle) ? high : low) = middle;
  }
  return high != end;
}

/// Places whose spans are part of the story, not settings.
bool tells_the_story(const std::string& place) {
  return place.starts_with("/timeline/") || place.starts_with("/workers/program/") ||
         place.starts_with("/workers/overrides/") || place.starts_with("/cluster/nodes/") ||
         place == "/core/at" || place == "/time_limit";
}

void lower_span(ShrinkSearch& search, const Pointer& place, sim::Duration span) {
  const bool negative = span < sim::Duration::zero();
  if (!negative && tells_the_story(place.to_string()) && shorten(search, {place}, span)) return;
  for (const sim::Duration round : rounded_spans(negative ? -span : span)) {
    if (put(search, {place}, scenario::duration_text(negative ? -round : round))) return;
  }
}

/// Times that are equal mean one moment, and often the failure needs just that: they are lowered
/// together before any is lowered alone.
void lower_moments(ShrinkSearch& search, const std::vector<Pointer>& leaves) {
  std::map<sim::Duration, std::vector<Pointer>> moments;
  for (const Pointer& place : leaves) {
    const ordered_json& leaf = search.json().at(place);
    if (!tells_the_story(place.to_string()) || !leaf.is_string() || digits_of(leaf) == 0) continue;
    moments[*scenario::parse_duration(leaf.get_ref<const std::string&>())].push_back(place);
  }
  for (const auto& [span, places] : moments) {
    if (places.size() > 1) shorten(search, places, span);
  }
}

}  // namespace

void lower_numbers(ShrinkSearch& search) {
  std::vector<Pointer> leaves;
  leaves_below(search.json(), Pointer(), leaves);
  lower_moments(search, leaves);
  for (const Pointer& place : leaves) {
    if (search.over()) return;
    const std::string text = place.to_string();
    if (text == "/seed" || text == "/version" || !search.json().contains(place)) continue;
    const ordered_json leaf = search.json().at(place);
    if (leaf.is_number_integer()) {
      lower_integer(search, place, leaf.get<std::int64_t>());
    } else if (leaf.is_string() && digits_of(leaf) > 0) {
      lower_span(search, place, *scenario::parse_duration(leaf.get<std::string>()));
    }
  }
  // A round that must be full: neither size can be lowered alone.
  for (std::int64_t size = 1; size < search.scenario().protocol.rendezvous.max_nodes; ++size) {
    Scenario candidate = search.scenario();
    candidate.protocol.rendezvous.min_nodes = candidate.protocol.rendezvous.max_nodes = size;
    if (search.attempt(candidate, fmt::format("rounds of {}", size))) break;
  }
}

}  // namespace hooke::hunt
