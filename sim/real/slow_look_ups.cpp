// One look-up blocks the thread that asks, so that another one looks at the time.
#include "sim/real/slow_look_ups.h"

namespace hooke::real {

SlowLookUps::Watch::Watch(SlowLookUps& owner, const std::string& name) {
  if (!owner.tell_) return;
  waiting_ = std::thread([this, &owner, name] {
    std::unique_lock lock(mutex_);
    if (over_changed_.wait_for(lock, kSlow, [this] { return over_; })) return;
    if (owner.is_new(name)) owner.tell_(name);
  });
}

SlowLookUps::Watch::~Watch() {
  if (!waiting_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_one();
  waiting_.join();
}

bool SlowLookUps::is_new(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return told_.insert(name).second;
}

}  // namespace hooke::real
