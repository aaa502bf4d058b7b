#include "model/rendezvous/core/key_prefix.h"

#include "sim/port/check.h"

namespace hooke::model {

std::string round_prefix(const std::string& run_id, std::int64_t round) {
  HOOKE_CHECK(round >= 0, "rounds are counted from 0");
  return "torch.rendezvous." + run_id + "." + std::to_string(round);
}

std::string job_prefix(const std::string& run_id) {
  return "hooke." + run_id;
}

}  // namespace hooke::model
