#include "model/hardened/agent/job_failure.h"

#include <string>

namespace hooke::model {
namespace {

std::string key_of(std::int64_t round) {
  return "failed/" + std::to_string(round);
}

}  // namespace

bool JobFailure::tell(std::int64_t round) {
  if (store_ == nullptr) return true;
  try {
    store_->set(key_of(round), Value(std::string("1")));
    return true;
  } catch (const StoreError&) {
    return false;
  }
}

bool JobFailure::is_told(std::int64_t round) {
  return store_ != nullptr && store_->check({key_of(round)});
}

}  // namespace hooke::model
