#pragma once
// Which workers of a group live. A worker cannot tell by itself: a collective that does not end has
// many causes, and a process group has no list of the living. Agents know of their own workers by
// heartbeats. They tell each other over the store of their round, and each tells its workers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hooke::model {

/// How a worker is, as far as its agent knows.
enum class WorkerLife : unsigned char {
  unknown,  ///< it has not beaten yet, or no agent tells of it: PyTorch's do not
  alive,    ///< it beats
  silent,   ///< it has fallen silent, or its agent has
  ended,    ///< its process has ended, or has sent its last beat
};
/// "unknown" and so on.
std::string_view to_string(WorkerLife life);
/// nullopt for another word.
std::optional<WorkerLife> worker_life_from(std::string_view word);

/// Of some workers, by rank.
using WorkerLives = std::vector<WorkerLife>;

/// No group has more workers; a list that names a higher rank is not believed.
inline constexpr std::int64_t kPeersMax = 1'000'000;

/// No answer, with its newline, is longer; a group of 100,000 workers fits.
inline constexpr std::size_t kPeersBytesMax = 1U << 20U;

/// What a worker that asks is told of its group, without the newline, by global rank:
/// {"alive": [0, 1], "silent": [3], "ended": [], "unknown": [2]}. Each rank is in one list.
std::string encode_peers(const WorkerLives& lives);
/// Reads such a line. std::invalid_argument naming what is wrong.
WorkerLives parse_peers(std::string_view line);

/// What one agent tells the others of its workers.
struct ToldByAgent {
  std::int64_t base_rank = 0;  ///< global rank of the first
  std::uint64_t count = 0;     ///< grows with each telling
  WorkerLives lives;
  friend bool operator==(const ToldByAgent&, const ToldByAgent&) = default;
};
/// "BASE COUNT LIVES", with the first letter of each life.
std::string encode_told(const ToldByAgent& told);
/// nullopt for any other text.
std::optional<ToldByAgent> parse_told(const std::string& text);

}  // namespace hooke::model
