#pragma once
// What an invariant has judged. "None broken" says as much as an invariant could see: the account
// tells how often there was something to judge, and why some of it was not judged.

#include <cstdint>
#include <map>
#include <string>

namespace hooke::properties {

/// Counts of what was owed. A check that is made at one event (a rank is unique) is owed and, at
/// once, kept or broken. An obligation whose premise ends (the waiting node dies) is not counted.
struct Account {
  std::int64_t kept = 0;
  std::int64_t broken = 0;
  std::int64_t excused = 0;  ///< not done in time because a fault took a resource that it needed
  std::int64_t open = 0;     ///< not yet due when the run ended
  std::int64_t put_off = 0;  ///< of all these: due later than the settings say, because of a fault
  /// What excused: "the store (service_stop)".
  std::map<std::string, std::int64_t> excused_by{};

  [[nodiscard]] std::int64_t owed() const { return kept + broken + excused + open; }
  [[nodiscard]] std::int64_t judged() const { return kept + broken; }
  void add(const Account& other) {
    kept += other.kept;
    broken += other.broken;
    excused += other.excused;
    open += other.open;
    put_off += other.put_off;
    for (const auto& [by, count] : other.excused_by) excused_by[by] += count;
  }
  friend bool operator==(const Account&, const Account&) = default;
};

}  // namespace hooke::properties
