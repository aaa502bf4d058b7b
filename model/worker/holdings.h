#pragma once
// What a worker holds and must give back: connections, a store that it serves, armed timers, its
// heartbeats. Cleaning up by hand is done in any order, twice, or half; this makes each thing
// go exactly once.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::model {

class Holdings {
 public:
  explicit Holdings(sim::Trace& trace) : trace_(trace) {}
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;

  /// From now on `release` gives `name` back. std::invalid_argument when something of that name is
  /// held.
  void hold(std::string name, std::function<void()> release);
  /// Gives it back; false when nothing of that name is held, as after the first time. What the
  /// release raises is passed on: it counts as given back all the same.
  bool release(const std::string& name);
  /// It has gone another way, and is not to be given back.
  void forget(const std::string& name);
  /// Gives everything back, the youngest first. An error of one keeps no other from going; the
  /// first is raised when all have gone.
  void release_all();
  [[nodiscard]] bool holds(const std::string& name) const;
  /// Names, the oldest first.
  [[nodiscard]] std::vector<std::string> held() const;

 private:
  struct Holding {
    std::string name;
    std::function<void()> release;
  };
  void give_back(Holding holding);

  sim::Trace& trace_;
  std::vector<Holding> holdings_;  ///< the oldest first
};

}  // namespace hooke::model
