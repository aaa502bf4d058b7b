// Switches, and who is told of them.
#include "model/etcd/misbehaviour.h"

namespace hooke::model {

void EtcdMisbehaviour::begin(Mode mode, std::uint64_t& felt) {
  ++of(mode).depth;
  of(mode).felt = &felt;
  if (changed_) changed_();
}

void EtcdMisbehaviour::end(Mode mode) {
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
  ++*of(mode).felt;
  return true;
}

}  // namespace hooke::model
