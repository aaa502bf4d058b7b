#pragma once
// Where the output of workers goes (torch/distributed/elastic/multiprocessing/api.py: Std,
// DefaultLogsSpecs).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace hooke::model {

/// For which of a worker's two streams something holds.
struct Std {
  bool out = false;
  bool err = false;
  friend bool operator==(const Std&, const Std&) = default;
};

/// A Std per local rank.
class StdMap {
 public:
  StdMap() = default;
  /// One digit 0 to 3 (none, out, err, both) for all, or "rank:digit" pairs with commas between
  /// them for some (ranks above 9 cannot be named). std::invalid_argument for anything else.
  static StdMap parse(const std::string& text);
  [[nodiscard]] Std of(std::int64_t local_rank) const;

 private:
  Std for_all_;
  std::map<std::int64_t, Std> by_rank_;
};

struct LogsSpec {
  /// Every agent makes a directory of its own in there.
  std::string directory = "/tmp/torchelastic";
  StdMap redirects;  ///< to files in the directory
  StdMap tee;        ///< to files, and from there to the agent's own streams
  /// The local ranks whose output is shown; none: all are.
  std::optional<std::set<std::int64_t>> shown_ranks;
};

/// The streams of one worker. An empty path: the agent's own stream.
struct WorkerStreams {
  std::string stdout_path;
  std::string stderr_path;
  Std tee;  ///< of these files
};

/// What `logs` makes of the streams of a worker whose files lie in `directory`.
WorkerStreams worker_streams(const LogsSpec& logs, std::int64_t local_rank,
                             const std::string& directory);

}  // namespace hooke::model
