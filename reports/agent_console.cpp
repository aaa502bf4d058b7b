// A line per event that somebody would ask about.
#include "reports/agent_console.h"

#include <fmt/format.h>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/worker/process_failure.h"

namespace hooke::report {

namespace ev = model::events;

namespace {

std::string nodes(std::int64_t count) {
  return count == 1 ? "1 node" : fmt::format("{} nodes", count);
}

}  // namespace

/// What the agent waits for from now on; empty: `event` begins no wait.
std::string AgentConsole::waiting_for(const sim::Event& event) {
  const auto number = [&](const char* name) { return event.field(name).number(); };
  if (event.type == &ev::agent_started) {
    min_nodes_ = number("min_nodes");
    max_nodes_ = number("max_nodes");
  } else if (event.type == &ev::agent_settings) {
    join_seconds_ = number("join") / 1'000'000'000;
  } else if (event.type == &ev::rendezvous_joining) {
    const std::string most = nodes(max_nodes_);
    return fmt::format(
        "joins job {}: a round takes {}{}", event.field("run_id").text(),
        min_nodes_ == max_nodes_ ? most : fmt::format("{} to {}", min_nodes_, most),
        join_seconds_ > 0 ? fmt::format(", and has {} s to form", join_seconds_) : "");
  } else if (event.type == &ev::rendezvous_added) {
    const std::string_view list = event.field("list").text();
    const std::int64_t round = number("round"), size = number("size");
    if (list == "wait_list") {
      return fmt::format("round {} goes on without this node: waits for the next one", round);
    }
    if (list == "redundancy_list") {
      return fmt::format("round {} is full: waits as a spare", round);
    }
    if (size < min_nodes_) {
      return fmt::format("in round {}: {} of {} here, waits for {} more", round, size,
                         nodes(min_nodes_), min_nodes_ - size);
    }
    return fmt::format(
        "in round {}: {} here, waits until it is complete, and for MASTER_ADDR from its rank 0",
        round, nodes(size));
  }
  return "";
}

void AgentConsole::on_event(const sim::Event& event) {
  const auto number = [&](const char* name) { return event.field(name).number(); };
  const auto text = [&](const char* name) { return event.field(name).text(); };
  std::string line = waiting_for(event);
  if (event.type == &ev::ranks_assigned) {
    line = fmt::format("round {}: node {} of {}, first rank {} of {}", number("round"),
                       number("group_rank"), number("group_world_size"), number("base_rank"),
                       number("world_size"));
  } else if (event.type == &ev::group_restarting) {
    line = fmt::format("the workers restart ({}), {} restarts left", text("cause"),
                       number("remaining_restarts"));
  } else if (event.type == &ev::worker_restarting) {
    line = fmt::format("worker {} restarts alone, {} restarts left", number("rank"),
                       number("remaining_restarts"));
  } else if (event.type == &ev::restart_delayed) {
    line = fmt::format("the restart waits for {} ms", number("delay") / 1'000'000);
  } else if (event.type == &ev::restart_refused) {
    line = fmt::format("no restart: {}", text("reason"));
  } else if (event.type == &ev::job_rerun) {
    line = fmt::format("the job is run again as {}", text("next_run_id"));
  } else if (event.type == &ev::worker_ended && number("status") != 0) {
    const std::int64_t status = number("status");
    const std::string how = status < 0 ? std::string(model::signal_name(static_cast<int>(-status)))
                                       : fmt::format("exit code {}", status);
    line = fmt::format("worker {} (local rank {}, process {}) ended with {}{}", number("rank"),
                       number("local_rank"), number("worker_pid"), how,
                       number("stopped") != 0 ? " after it was told to stop" : "");
  } else if (event.type == &ev::worker_signalled) {
    line = fmt::format("process {} is sent {}: {}", number("worker_pid"),
                       model::signal_name(static_cast<int>(number("signal"))), text("reason"));
  } else if (event.type == &ev::worker_uninterruptible) {
    line = fmt::format(
        "worker {} (local rank {}, process {}) is asleep in the kernel, where no "
        "signal reaches it (state D)",
        number("rank"), number("local_rank"), number("worker_pid"));
    const std::string_view consequence = text("consequence");
    const double seconds = static_cast<double>(number("span")) / 1e9;
    if (consequence == "unhealthy") {
      line += fmt::format(", for {:.1f} s: the group is unhealthy", seconds);
    } else if (consequence == "waited_for") {
      line += fmt::format(": not even SIGKILL, {:.1f} s ago; it is waited for", seconds);
    } else if (consequence == "abandoned") {
      line += fmt::format(": not even SIGKILL, {:.1f} s ago; it is left behind", seconds);
    }
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
