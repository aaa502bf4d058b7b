// Redirected is what is redirected or teed.
#include "model/worker/logs.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr char kFilteredOut[] = "/filtered_stdout.log";
constexpr char kFilteredErr[] = "/filtered_stderr.log";

bool is_std_digit(char c) {
  return c >= '0' && c <= '3';
}

Std std_of(char digit) {
  HOOKE_CHECK(is_std_digit(digit), "a digit that was read is one of two streams");
  const int bits = digit - '0';
  return {(bits & 1) != 0, (bits & 2) != 0};
}

}  // namespace

StdMap StdMap::parse(const std::string& text) {
  StdMap map;
  if (text.size() == 1 && is_std_digit(text[0])) {
    map.for_all_ = std_of(text[0]);
    return map;
  }
  for (std::size_t i = 0;; i += 4) {
    const std::string_view pair = std::string_view(text).substr(std::min(i, text.size()), 3);
    const bool is_pair = pair.size() == 3 && pair[0] >= '0' && pair[0] <= '9' && pair[1] == ':' &&
                         is_std_digit(pair[2]);
    const bool is_last = i + 3 == text.size();
    if (!is_pair || (!is_last && text[i + 3] != ',')) {
      throw std::invalid_argument(
          "expected one digit from 0 to 3, or pairs such as \"0:1,1:3\" of a local rank below 10 "
          "and such a digit, got \"" +
          text + "\"");
    }
    map.by_rank_[pair[0] - '0'] = std_of(pair[2]);
    if (is_last) return map;
  }
}

Std StdMap::of(std::int64_t local_rank) const {
  const auto found = by_rank_.find(local_rank);
  return found == by_rank_.end() ? for_all_ : found->second;
}

std::vector<std::string> filtered_logs(const LogsSpec& logs, const std::string& directory) {
  HOOKE_CHECK(!directory.empty(), "filtered logs lie in the directory of an attempt");
  std::vector<std::string> files;
  if (!logs.stdout_filters.empty()) files.push_back(directory + kFilteredOut);
  if (!logs.stderr_filters.empty()) files.push_back(directory + kFilteredErr);
  return files;
}

WorkerStreams worker_streams(const LogsSpec& logs, std::int64_t local_rank,
                             const std::string& directory, const std::string& header) {
  HOOKE_CHECK(local_rank >= 0 && !directory.empty(),
              "a worker's files lie in a directory of its own");
  const std::string own = directory + "/" + std::to_string(local_rank);
  const Std redirect = logs.redirects.of(local_rank);
  const Std tee = logs.tee.of(local_rank);
  const bool shown = !logs.shown_ranks || logs.shown_ranks->contains(local_rank);
  // What is not shown and not wanted in a file goes nowhere.
  const std::string elsewhere = shown ? "" : "/dev/null";
  WorkerStreams streams;
  streams.stdout_path = redirect.out || tee.out ? own + "/stdout.log" : elsewhere;
  streams.stderr_path = redirect.err || tee.err ? own + "/stderr.log" : elsewhere;
  const auto follow = [&](const std::string& path, const char* stream, const char* filtered,
                          const std::vector<std::string>& filters) {
    HOOKE_CHECK(path.starts_with(own), "what is followed is a file of this worker");
    streams.tails.push_back({path, header, stream, {}});
    if (!filters.empty()) streams.tails.push_back({path, header, directory + filtered, filters});
  };
  if (shown && tee.out) {
    follow(streams.stdout_path, "/dev/stdout", kFilteredOut, logs.stdout_filters);
  }
  if (shown && tee.err) {
    follow(streams.stderr_path, "/dev/stderr", kFilteredErr, logs.stderr_filters);
  }
  return streams;
}

}  // namespace hooke::model
