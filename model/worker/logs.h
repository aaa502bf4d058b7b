#pragma once
// Where the output of workers goes (torch/distributed/elastic/multiprocessing/api.py: Std,
// DefaultLogsSpecs).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  /// Every agent makes a directory of its own in there; /dev/null: no file is kept (2.x). Empty:
  /// in one of its own below TMPDIR, or /tmp.
  std::string directory;
  StdMap redirects;  ///< to files in the directory
  StdMap tee;        ///< to files, and from there to the agent's own streams
  /// The local ranks whose output is shown; none: all are.
  std::optional<std::set<std::int64_t>> shown_ranks;
  /// Heads each line that is shown; ${role_name}, ${local_rank} and ${rank} are substituted.
  std::string line_prefix = "[${role_name}${local_rank}]:";
  /// Lines of teed streams with one of these texts in them go to one more file, which all workers
  /// of an attempt share; none: there is no such file.
  std::vector<std::string> stdout_filters;
  std::vector<std::string> stderr_filters;
};

/// One file to follow.
struct TailedFile {
  std::string path;
  std::string header;                ///< put before every line ("[default0]:")
  std::string destination;           ///< the file or device that gets the lines
  std::vector<std::string> filters;  ///< only lines with one of them; none: every line
};

/// The streams of one worker. An empty path: the agent's own stream.
struct WorkerStreams {
  std::string stdout_path;
  std::string stderr_path;
  std::vector<TailedFile> tails;  ///< of these files
};

/// "filtered_stdout.log" and "filtered_stderr.log" in the directory of an attempt, as far as `logs`
/// has filters.
std::vector<std::string> filtered_logs(const LogsSpec& logs, const std::string& directory);

/// What `logs` makes of the streams of a worker in the attempt whose files lie in `directory`: its
/// own are in <directory>/<local_rank>. `header`: its line prefix.
WorkerStreams worker_streams(const LogsSpec& logs, std::int64_t local_rank,
                             const std::string& directory, const std::string& header);

}  // namespace hooke::model
