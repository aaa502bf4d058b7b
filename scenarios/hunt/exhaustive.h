#pragma once
// Every order of store operations, within bounds. A small world is played quietly once; then again
// with each *deviation* that could make a difference, then with each second one after that, and so
// on: a request held behind others that do not commute with it, or, after a write of its, an agent
// that is killed or parted from the store (between its writes it makes no difference to others when
// that happens). Runs in which the operations that do not commute have the same order are one class
// (a Mazurkiewicz trace), and only the first run of a class is taken further: partial-order
// reduction, with the bound on deviations of delay-bounded search (Emmi, Qadeer, Rakamaric, POPL
// 2011).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "scenarios/hunt/exploration.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {

struct Bounds {
  std::int64_t deviations = 2;
  std::int64_t crashes = 2;     ///< how many of them may be crashes
  std::int64_t partitions = 1;  ///< and how many partitions
};

struct Deviation {
  enum class Kind : unsigned char {
    hold,       ///< the request is held behind `behind` others
    crash,      ///< its agent is killed when it has had the answer
    partition,  ///< then its node and the store's part
  };
  Kind kind{};
  std::string client;        ///< node
  std::string service;       ///< and the machine it asks
  std::uint64_t number = 0;  ///< of the request: the machine's to that service, from 0
  std::int64_t passage = 0;  ///< and to all services, from 1
  std::uint64_t behind = 0;
  std::uint64_t place = 0;  ///< of the request among all of the run: the next deviation comes later
  friend bool operator==(const Deviation&, const Deviation&) = default;
};
using Branch = std::vector<Deviation>;

/// `root` with the deviations: a scenario like any other, with a tape.
scenario::Scenario world_of(const scenario::Scenario& root, const Branch& branch);

/// What one run has shown.
struct Leaf {
  WorldResult result;
  std::uint64_t order = 0;      ///< names the class: a hash of the order of what does not commute
  std::vector<Deviation> next;  ///< where it can go from here, within the bounds
};

/// Plays `root` with the deviations of `branch`.
Leaf play(kernel::Kernel& kernel, const scenario::Scenario& root, const Branch& branch,
          const Bounds& bounds, const properties::InvariantRegistry& invariants);

/// A leaf as one line of JSON, and back.
std::string write_leaf(const Leaf& leaf);
Leaf load_leaf(std::string_view line, const std::string& source);

/// One request at a store, as its bytes tell.
struct StoreRequest {
  bool writes = true;
  std::string key;  ///< empty: unknown, or all of them
};
/// `hex`: how a request begins. What is no request of a TCPStore counts as a write of everything.
StoreRequest read_request(std::string_view hex);
bool commute(const StoreRequest& a, const StoreRequest& b);

}  // namespace hooke::hunt
