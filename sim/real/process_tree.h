#pragma once
// Processes that are not our children but are ours to answer for: those that our children start,
// and those that outlive them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/process_host.h"

namespace hooke::real {

/// From now on this process becomes the parent of every descendant that loses its own, and so can
/// reap it. std::system_error when the machine refuses.
void adopt_orphans();
/// The end of an adopted process; nullopt while it runs or when it is not ours to reap.
std::optional<sim::ExitStatus> reap_adopted(sim::Pid pid);

/// True while a process with that number runs; a zombie does not.
bool is_running(sim::Pid pid);
/// Living processes of this user whose environment holds `variable` ("NAME=value"), whatever their
/// parent is.
std::vector<sim::Pid> processes_marked(const std::string& variable);

/// Kills every process marked with a variable when its owner ends, in whatever way: a process of
/// its own that outlives the owner for just that.
class OrphanKiller {
 public:
  /// Call before threads and event loops exist: it forks. std::system_error when that fails.
  explicit OrphanKiller(std::string variable);
  /// Kills what is marked and waits until nothing is left.
  ~OrphanKiller();
  OrphanKiller(const OrphanKiller&) = delete;
  OrphanKiller& operator=(const OrphanKiller&) = delete;

 private:
  int pipe_ = -1;
  int pid_ = -1;
};

}  // namespace hooke::real
