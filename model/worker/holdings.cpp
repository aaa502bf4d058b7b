// A holding leaves the list before it is given back: a release meanwhile finds nothing.
#include "model/worker/holdings.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {

void Holdings::hold(std::string name, std::function<void()> release) {
  if (holds(name)) throw std::invalid_argument("\"" + name + "\" is held already");
  HOOKE_CHECK(!name.empty() && release != nullptr, "what is held has a name and can be given back");
  holdings_.push_back({std::move(name), std::move(release)});
}

bool Holdings::release(const std::string& name) {
  const auto found = std::find_if(holdings_.begin(), holdings_.end(),
                                  [&](const Holding& each) { return each.name == name; });
  if (found == holdings_.end()) return false;
  Holding holding = std::move(*found);
  holdings_.erase(found);
  give_back(std::move(holding));
  return true;
}

void Holdings::forget(const std::string& name) {
  std::erase_if(holdings_, [&](const Holding& each) { return each.name == name; });
}

void Holdings::release_all() {
  std::exception_ptr first;
  while (!holdings_.empty()) {
    Holding holding = std::move(holdings_.back());
    holdings_.pop_back();
    try {
      give_back(std::move(holding));
    } catch (const std::exception&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

bool Holdings::holds(const std::string& name) const {
  return std::any_of(holdings_.begin(), holdings_.end(),
                     [&](const Holding& each) { return each.name == name; });
}

std::vector<std::string> Holdings::held() const {
  std::vector<std::string> out;
  for (const Holding& each : holdings_) out.push_back(each.name);
  return out;
}

void Holdings::give_back(Holding holding) {
  HOOKE_CHECK(!holds(holding.name), "what is given back is held no more");
  trace_.emit(events::worker_released, {holding.name});
  holding.release();
}

}  // namespace hooke::model
