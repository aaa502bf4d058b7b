// Of each line that matters, a few words that no other line has. The time is needed because the logs
// of several agents are read one after the other: what the first has written last may have come
// after what the second has written since.
#include "scenarios/recorded/torchrun_log.h"

#include <charconv>

namespace hooke::scenario {

using namespace std::chrono_literals;

namespace {

/// "I1127 12:05:24.695000 1164 torch/…": the severity, month and day, and then the time.
std::optional<sim::Duration> time_of_day(std::string_view line) {
  constexpr std::size_t kBegin = 6;
  constexpr std::string_view kForm = "00:00:00.000000 ";
  if (line.size() < kBegin + kForm.size() || line[kBegin - 1] != ' ') return std::nullopt;
  const std::string_view said = line.substr(kBegin, kForm.size());
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = said[i] >= '0' && said[i] <= '9';
    if (kForm[i] == '0' ? !digit : said[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t from, std::size_t length) {
    std::int64_t out = 0;
    std::from_chars(said.data() + from, said.data() + from + length, out);
    return out;
  };
  return number(0, 2) * 1h + number(3, 2) * 1min + number(6, 2) * 1s + number(9, 6) * 1us;
}

}  // namespace

const std::map<std::string, std::string>& torchrun_log_environment() {
  static const std::map<std::string, std::string> variables{
      {"LOGLEVEL", "INFO"},
      {"TZ", "UTC"},
      // Closing is told by the module of the rendezvous alone, and the node only in detail.
      {"TORCH_LOGS", "+torch.distributed.elastic.rendezvous.dynamic_rendezvous"}};
  return variables;
}

sim::WorldTime written_at(const LogLine& line, sim::WorldTime now, sim::WallTime wall) {
  if (!line.time_of_day) return now;
  constexpr sim::Duration kDay = 24h;
  const sim::Duration ago = (wall.time_since_epoch() % kDay + kDay - *line.time_of_day) % kDay;
  return ago > 1h ? now : now - ago;
}

std::optional<LogLine> TorchrunLog::read(std::string_view line) {
  if (const auto what = what_it_says(line)) return LogLine{*what, time_of_day(line)};
  return std::nullopt;
}

std::optional<Logged> TorchrunLog::what_it_says(std::string_view line) {
  const auto says = [&](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  };
  if (says("] failed (exitcode: ")) return Logged::worker_failed;
  if (says("] Local worker group finished (")) return Logged::exit_barrier_entered;
  if (says("] Done waiting for other agents.") || says("] Error waiting on exit barrier."))
    return Logged::exit_barrier_left;
  // Every agent that ends well finds the rendezvous "closed"; only one of them has made it so.
  if (says("' marked the rendezvous '") && says("' as closed.")) {
    closing_ = true;
  } else if (says("] The node '") && says("has a stale state and failed to sync")) {
    closing_ = false;
  } else if (closing_ && says("] The node '") && says("has successfully synced")) {
    closing_ = false;
    return Logged::closed;
  }
  return std::nullopt;
}

}  // namespace hooke::scenario
