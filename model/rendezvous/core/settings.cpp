// Order and text of node descriptors, and the check of time-outs.
#include "model/rendezvous/core/settings.h"

#include <stdexcept>

namespace hooke::model {

std::strong_ordering operator<=>(const NodeDesc& a, const NodeDesc& b) {
  // std::string compares as unsigned bytes, which for UTF-8 is the order of code points.
  const int addr = a.addr.compare(b.addr);
  if (addr != 0) return addr < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
  if (const auto order = a.pid <=> b.pid; order != 0) return order;
  return a.local_id <=> b.local_id;
}

std::string NodeDesc::text() const {
  return addr + "_" + std::to_string(pid) + "_" + std::to_string(local_id);
}

void RendezvousTimeout::validate() const {
  const auto require_positive = [](const char* name, sim::Duration span) {
    if (span > sim::Duration::zero()) return;
    throw std::invalid_argument(std::string("the ") + name + " timeout must be positive, it is " +
                                std::to_string(span.count()) + " ns");
  };
  require_positive("join", join);
  require_positive("last call", last_call);
  require_positive("close", close);
  require_positive("heartbeat", heartbeat);
}

}  // namespace hooke::model
