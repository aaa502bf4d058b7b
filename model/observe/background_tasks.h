#pragma once
// The background tasks of an agent by name, as its code starts them and as scenarios name the one
// that dies ("thread.dies"). One list, so that a misspelt name is refused.

#include <algorithm>
#include <array>
#include <string_view>

namespace hooke::model::tasks {

inline constexpr std::string_view kKeepAlive = "keep_alive";      ///< of a dynamic rendezvous
inline constexpr std::string_view kWatchdog = "watchdog";         ///< of file timers
inline constexpr std::string_view kTimerServer = "timer server";  ///< of queue timers
/// Keeps a key of the older etcd rendezvous; its path follows.
inline constexpr std::string_view kRefresh = "refresh ";
inline constexpr std::string_view kTail = "tail ";  ///< shows a log; its path follows

inline constexpr std::array kAll{kKeepAlive, kWatchdog, kTimerServer, kRefresh, kTail};

/// Whether an agent may have a task of that name.
constexpr bool can_be(std::string_view name) {
  return std::any_of(kAll.begin(), kAll.end(), [name](std::string_view task) {
    const bool path_follows = task.ends_with(' ');
    return path_follows ? name.starts_with(task) && name.size() > task.size() : name == task;
  });
}

}  // namespace hooke::model::tasks
