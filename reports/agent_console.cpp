// A line per event that somebody would ask about.
#include "reports/agent_console.h"

#include <fmt/format.h>

#include "model/observe/trace_events.h"

namespace hooke::report {

namespace ev = model::events;

void AgentConsole::on_event(const sim::Event& event) {
  const auto number = [&](const char* name) { return event.field(name).number(); };
  const auto text = [&](const char* name) { return event.field(name).text(); };
  std::string line;
  if (event.type == &ev::ranks_assigned) {
    line = fmt::format("round {}: node {} of {}, first rank {} of {}", number("round"),
                       number("group_rank"), number("group_world_size"), number("base_rank"),
                       number("world_size"));
  } else if (event.type == &ev::group_restarting) {
    line = fmt::format("the workers restart ({}), {} restarts left", text("cause"),
                       number("remaining_restarts"));
  } else if (event.type == &ev::worker_ended && number("status") != 0) {
    const std::int64_t status = number("status");
    line = fmt::format("worker {} (local rank {}, process {}) ended with {} {}", number("rank"),
                       number("local_rank"), number("worker_pid"),
                       status < 0 ? "signal" : "exit code", status < 0 ? -status : status);
  } else if (event.type == &ev::heartbeat_lost) {
    line = fmt::format("no heartbeat of worker {} for {} ms", text("worker"),
                       number("silent") / 1'000'000);
  } else if (event.type == &ev::heartbeat_returned) {
    line = fmt::format("worker {} beats again after {} ms", text("worker"),
                       number("silent") / 1'000'000);
  } else if (event.type == &ev::agent_finished && number("exit_code") != 0) {
    line = fmt::format("{}: {}", text("outcome"), text("detail"));
  }
  if (!line.empty()) out_ << "hooke: " + line + "\n" << std::flush;
}

}  // namespace hooke::report
