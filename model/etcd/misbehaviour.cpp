// Switches, and the listeners that are told of them.
#include "model/etcd/misbehaviour.h"

#include "sim/port/check.h"

namespace hooke::model {

void EtcdMisbehaviour::begin(Mode mode, std::uint64_t& felt) {
  HOOKE_CHECK(of(mode).depth >= 0, "a mode is off or on");
  ++of(mode).depth;
  of(mode).felt = &felt;
  if (changed_) changed_();
}

void EtcdMisbehaviour::end(Mode mode) {
  HOOKE_CHECK(of(mode).depth > 0, "a mode that ends has begun");
  --of(mode).depth;
  if (changed_) changed_();
}

void EtcdMisbehaviour::expire(std::uint64_t& felt) {
  expiry_ = &felt;
  if (changed_) changed_();
}

bool EtcdMisbehaviour::take_expiry(std::size_t count) {
  std::uint64_t* const felt = std::exchange(expiry_, nullptr);
  if (felt != nullptr) *felt += count;
  return felt != nullptr;
}

bool EtcdMisbehaviour::strikes(Mode mode) {
  if (!on(mode)) return false;
  HOOKE_CHECK(of(mode).felt != nullptr, "a mode that is on counts where it is felt");
  ++*of(mode).felt;
  return true;
}

std::string_view to_string(EtcdMisbehaviour::Mode mode) {
  using Mode = EtcdMisbehaviour::Mode;
  switch (mode) {
    case Mode::late_expiry: return "late_expiry";
    case Mode::stale_read: return "stale_read";
    case Mode::compaction: return "compaction";
    case Mode::leader_loss: return "leader_loss";
    case Mode::unknown_outcome: return "unknown_outcome";
    case Mode::duplicate_events: return "duplicate_events";
  }
  HOOKE_CHECK(false, "each mode has a name");
  return "?";
}

}  // namespace hooke::model
