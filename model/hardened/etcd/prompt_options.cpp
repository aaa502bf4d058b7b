#include "model/hardened/etcd/prompt_options.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {

EtcdOptions prompt_options(EtcdOptions options, const RendezvousSettings& settings) {
  options.read_timeout = std::min<sim::Duration>(
      options.read_timeout, settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1));
  HOOKE_CHECK(options.read_timeout > sim::Duration::zero(),
              "the time-out of an answer is positive");
  options.by_quorum = true;
  options.server.interruptible = true;
  return options;
}

}  // namespace hooke::model
