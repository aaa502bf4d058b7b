// Each event is a few words: type, which fields are texts, cause, times, place, then one word per
// field (a number, or the length of a text), the texts apart.
#include "scenarios/simulated/determinism_check.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

constexpr std::size_t kHeaderWords = 6;
using Words = std::array<std::uint64_t, kHeaderWords + sim::EventType::kMaxFields>;

std::uint64_t word_of(sim::Duration span) {
  return static_cast<std::uint64_t>(span.count());
}

/// The event's words; returns how many.
std::size_t encode(const sim::Event& event, Words& words) {
  HOOKE_CHECK(event.fields.size() <= sim::EventType::kMaxFields, "each field has its word");
  std::uint64_t texts = 0;
  for (std::size_t i = 0; i < event.fields.size(); ++i) {
    const sim::FieldValue& field = event.fields[i];
    if (field.is_text()) texts |= std::uint64_t{1} << i;
    words[kHeaderWords + i] =
        field.is_text() ? field.text().size() : static_cast<std::uint64_t>(field.number());
  }
  words[0] = reinterpret_cast<std::uintptr_t>(event.type);  // compared for equality only
  words[1] = texts;
  words[2] = event.parent.value;
  words[3] = word_of(event.at.time_since_epoch());
  words[4] = word_of(event.wall.time_since_epoch());
  words[5] = (std::uint64_t{event.node.value} << 32U) | static_cast<std::uint32_t>(event.pid.value);
  return kHeaderWords + event.fields.size();
}

}  // namespace

std::string describe(const sim::Event& event, const std::vector<std::string>& node_names) {
  const std::int64_t ns = event.at.time_since_epoch().count();
  const std::string place =
      event.node.value < node_names.size()
          ? fmt::format("{}[{}]", node_names[event.node.value], event.pid.value)
          : std::string("harness");
  std::string line = fmt::format("{}.{:09} s {} {}", ns / 1'000'000'000, ns % 1'000'000'000, place,
                                 event.type->name);
  for (std::size_t i = 0; i < event.fields.size(); ++i) {
    line += fmt::format(" {}=", event.type->fields[i]);
    line += event.fields[i].is_text() ? fmt::format("\"{}\"", event.fields[i].text())
                                      : std::to_string(event.fields[i].number());
  }
  return line + fmt::format(" (caused by event {})", event.parent.value);
}

void FirstRun::on_event(const sim::Event& event) {
  hashes_.push_back(recorder_.hash().low());
  HOOKE_CHECK(kept_ < hashes_.size(), "no more events are kept than there were");
  if (kept_ + 1 != hashes_.size()) return;  // no longer kept
  Words words;
  const std::size_t count = encode(event, words);
  words_.insert(words_.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
  for (const sim::FieldValue& field : event.fields) {
    if (field.is_text()) texts_ += field.text();
  }
  if (words_.size() * sizeof(words_[0]) + texts_.size() <= bytes_max_) ++kept_;
}

void FirstRun::finish(kernel::RunEnd end) {
  end_ = end;
  last_hash_ = recorder_.hash().hex();
}

void SecondRun::on_event(const sim::Event& event) {
  if (difference_) return;
  if (events_ >= first_.hashes_.size()) {
    return differ("the run was over", describe(event, node_names_));
  }
  const bool same_so_far = first_.hashes_[events_] == recorder_.hash().low();
  if (events_ >= first_.kept_) {
    if (!same_so_far) differ("(too far into the run to be kept)", describe(event, node_names_));
    ++events_;
    return;
  }
  Words words;
  const std::size_t count = encode(event, words);
  bool same = word_ + count <= first_.words_.size() &&
              std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count),
                         first_.words_.begin() + static_cast<std::ptrdiff_t>(word_));
  std::size_t text = text_;
  for (const sim::FieldValue& field : event.fields) {
    if (!field.is_text() || !same) continue;
    same = first_.texts_.compare(text, field.text().size(), field.text()) == 0;
    text += field.text().size();
  }
  if (!same) return differ(first_event(), describe(event, node_names_));
  if (!same_so_far) {
    return differ(first_event() + ", reached by other steps", describe(event, node_names_));
  }
  word_ += count;
  text_ = text;
  HOOKE_CHECK(word_ <= first_.words_.size() && text_ <= first_.texts_.size(),
              "what is the same was kept");
  ++events_;
}

/// The event of the first run at the current place.
std::string SecondRun::first_event() const {
  const std::span<const std::uint64_t> words = std::span(first_.words_).subspan(word_);
  HOOKE_CHECK(words.size() >= kHeaderWords, "an event that was kept is whole");
  const auto* const type = reinterpret_cast<const sim::EventType*>(words[0]);
  sim::Event event;
  event.parent.value = words[2];
  event.at = sim::WorldTime(sim::Duration(static_cast<std::int64_t>(words[3])));
  event.node.value = static_cast<std::uint32_t>(words[5] >> 32U);
  event.pid.value = static_cast<std::int32_t>(words[5] & 0xffffffffU);
  event.type = type;
  std::vector<sim::FieldValue> fields;
  std::size_t text = text_;
  for (std::size_t i = 0; i < type->field_count; ++i) {
    const std::uint64_t word = words[kHeaderWords + i];
    if ((words[1] >> i & 1U) != 0) {
      fields.emplace_back(std::string_view(first_.texts_).substr(text, word));
      text += word;
    } else {
      fields.emplace_back(static_cast<std::int64_t>(word));
    }
  }
  event.fields = fields;
  return describe(event, node_names_);
}

void SecondRun::finish(kernel::RunEnd end) {
  if (difference_) return;
  const std::string first_end(to_string(first_.end_));
  if (events_ < first_.hashes_.size()) {
    differ(events_ < first_.kept_ ? first_event() : std::string("one more event"),
           fmt::format("the run was over ({})", to_string(end)));
  } else if (recorder_.hash().hex() != first_.last_hash_ || end != first_.end_) {
    differ(fmt::format("the run ended ({}, {})", first_end, first_.last_hash_),
           fmt::format("the run ended ({}, {}), after the same events", to_string(end),
                       recorder_.hash().hex()));
  }
}

void SecondRun::differ(std::string first, std::string second) {
  difference_ = TraceDifference{events_ + 1, std::move(first), std::move(second)};
  if (stop_) stop_();
}

}  // namespace hooke::scenario
