#include "model/rendezvous/backends/etcd_tokens.h"

#include <stdexcept>

namespace hooke::model {

std::string etcd_state_path(const std::string& run_id) {
  if (run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  return "/torch/elastic/rendezvous/" + run_id;
}

Token etcd_token(std::int64_t number) {
  return Token(std::to_string(number));
}

}  // namespace hooke::model
