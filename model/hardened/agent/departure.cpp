#include "model/hardened/agent/departure.h"

#include <string>

namespace hooke::model {
namespace {

std::string left(std::int64_t round) {
  return "left/" + std::to_string(round);
}

std::string left(std::int64_t round, std::int64_t rank) {
  return left(round) + "/" + std::to_string(rank);
}

}  // namespace

void Departure::tell_of_order(std::int64_t rank) {
  if (!can_tell()) return;
  store_->multi_set({{left(round_), Value("1")}, {left(round_, rank), Value("1")}});
}

void Departure::tell_of_following(std::int64_t rank) {
  if (can_tell()) store_->set(left(round_, rank), Value("1"));
}

bool Departure::one_was_ordered() {
  return can_tell() && store_->check({left(round_)});
}

bool Departure::have_all_left(const std::vector<std::int64_t>& ranks) {
  if (!can_tell() || ranks.empty()) return false;
  std::vector<std::string> keys;
  for (const std::int64_t rank : ranks) keys.push_back(left(round_, rank));
  return store_->check(keys);
}

}  // namespace hooke::model
