#pragma once
// A name server that does not answer holds an agent up for minutes, without a word of the system's
// resolver. What is asked is told after a second.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace hooke::real {

/// Told once of each name whose look-up takes long. Called from another thread.
using TellSlowLookUp = std::function<void(const std::string& name)>;

class SlowLookUps {
 public:
  static constexpr std::chrono::milliseconds kSlow{1000};

  /// Before the first look-up.
  void tell_by(TellSlowLookUp tell) { tell_ = std::move(tell); }

  /// Lives as long as one look-up of `name`.
  class Watch {
   public:
    Watch(SlowLookUps& owner, const std::string& name);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    std::mutex mutex_;
    std::condition_variable over_changed_;
    bool over_ = false;
    std::thread waiting_;  ///< not joinable: nothing would be told
  };

 private:
  /// Whether `name` was not told of before.
  bool is_new(const std::string& name);

  TellSlowLookUp tell_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace hooke::real
