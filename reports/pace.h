#pragma once
// How long work of many tasks will still take. Tasks differ and a machine has other work, so the
// rate so far is a guess: what is said is a span, from the fastest and the slowest part so far.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hooke::report {

class Pace {
 public:
  struct Span {
    std::chrono::nanoseconds least{}, most{};
  };

  /// `done` tasks were over after `elapsed`, which never goes back. Fewer than before: another phase
  /// has begun, of which nothing is known yet.
  void see(std::chrono::nanoseconds elapsed, std::uint64_t done);
  /// How long `planned` tasks in all will still take; nullopt before there is a basis: three seconds,
  /// ten tasks, and some in each third of the time.
  [[nodiscard]] std::optional<Span> left(std::uint64_t planned) const;

 private:
  struct Sample {
    std::chrono::nanoseconds at{};
    std::uint64_t done = 0;
  };
  /// Tasks over after that time, of the samples.
  [[nodiscard]] double done_at(std::chrono::nanoseconds at) const;

  std::vector<Sample> samples_;
  Sample last_end_;                           ///< when a task was seen to be over
  std::chrono::nanoseconds longest_pause_{};  ///< between two ends
};

/// "about 12 s left", "12 s to 19 s left at this pace"; empty where nothing is known. `limit`: what
/// --time leaves, after which no task is begun; nullopt: it was not given.
std::string left_text(const std::optional<Pace::Span>& left,
                      std::optional<std::chrono::nanoseconds> limit);

}  // namespace hooke::report
