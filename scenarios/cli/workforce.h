#pragma once
// Tasks in processes: a kernel has a thread of its own, and a world that crashes takes nothing with
// it but its process.

#include <cstdint>
#include <functional>
#include <string>

namespace hooke::cli {

struct Workforce {
  unsigned jobs = 1;
  /// Does one task, in another process; its result is one line.
  std::function<std::string(std::uint64_t task)> work;
  /// A result has come; in the order of their ends.
  std::function<void(std::uint64_t task, const std::string& line)> done;
  /// The process that had the task ended without a result: "killed by SIGSEGV".
  std::function<void(std::uint64_t task, const std::string& how)> crashed;
  /// Asked before each task is given out, and at least every 200 ms: false, and no more are. Those
  /// that are out come to their ends.
  std::function<bool()> more;

  /// Gives out the tasks from 0 to `count` - 1 in order, and returns how many it gave out when all
  /// of those are over. std::system_error when the machine gives no processes.
  std::uint64_t run(std::uint64_t count);
};

}  // namespace hooke::cli
