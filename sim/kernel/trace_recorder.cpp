// Folding events into the hash and handing them to sinks.
#include "sim/kernel/trace_recorder.h"

#include "sim/port/check.h"

namespace hooke::kernel {
namespace {

/// The eight bytes from there on, the first of which is the lowest. Compilers know this pattern.
std::uint64_t word_at(const char* bytes) {
  const auto at = [bytes](unsigned i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  };
  return at(0) | at(1) | at(2) | at(3) | at(4) | at(5) | at(6) | at(7);
}

}  // namespace

void TraceHash::add(std::string_view text) {
  add(text.size());
  std::size_t done = 0;
  for (; done + 8 <= text.size(); done += 8) add(word_at(text.data() + done));
  std::uint64_t word = 0;
  for (std::size_t i = done; i < text.size(); ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * (i - done));
  }
  if (done < text.size()) add(word);
}

std::string TraceHash::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t half : {high_, low_}) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(half >> shift) & 15U];
  }
  return out;
}

sim::EventId TraceRecorder::emit(sim::EventId& cause, sim::WorldTime at, sim::WallTime wall,
                                 sim::NodeId node, sim::Pid pid, const sim::EventType& type,
                                 std::span<const sim::FieldValue> fields) {
  HOOKE_CHECK(fields.size() == type.field_count, "an event carries exactly the fields of its type");
  HOOKE_CHECK(cause.value < next_id_, "the cause of an event comes before it");
  const sim::Event event{sim::EventId{next_id_++}, cause, at, wall, node, pid, &type, fields};
  HOOKE_CHECK(!type.name.empty(), "a type of event has a name");
  hash_.add(type.name);
  hash_.add(event.parent.value);
  hash_.add(static_cast<std::uint64_t>(at.time_since_epoch().count()));
  hash_.add(static_cast<std::uint64_t>(wall.time_since_epoch().count()));
  hash_.add((std::uint64_t{node.value} << 32U) | static_cast<std::uint32_t>(pid.value));
  for (const sim::FieldValue& field : fields) {
    if (field.is_text()) {
      hash_.add(field.text());
    } else {
      hash_.add(static_cast<std::uint64_t>(field.number()));
    }
  }
  for (TraceSink* sink : sinks_) sink->on_event(event);
  cause = event.id;
  return event.id;
}

}  // namespace hooke::kernel
