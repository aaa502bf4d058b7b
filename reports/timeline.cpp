// Phrases for events, and their placement in columns.
#include "reports/timeline.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/observe/worker_store_events.h"
#include "reports/text.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
namespace wev = world::events;

constexpr std::size_t kTimeWidth = 12;
constexpr std::size_t kNarrowestColumn = 24;
/// Of lines that are not cut.
constexpr std::size_t kUncutColumn = 40;

std::int64_t num(const sim::Event& event, std::string_view name) {
  return event.field(name).number();
}
std::string txt(const sim::Event& event, std::string_view name) {
  return std::string(event.field(name).text());
}

std::string signal_text(std::int64_t number) {
  return std::string(to_string(static_cast<sim::Signal>(static_cast<int>(number))));
}

/// What is told of an event. What is told of one of several workers or processes has its number
/// apart, so that those of which the same is told can share a line.
struct Phrase {
  std::string before;
  std::optional<std::int64_t> number{};
  std::string after{};
  [[nodiscard]] std::string text() const {
    return before + (number ? std::to_string(*number) : "") + after;
  }
};

std::string rendezvous_phrase(const sim::Event& event) {
  if (event.type == &ev::rendezvous_joining) return "wants to join";
  if (event.type == &ev::rendezvous_added) {
    // A job's logs do not tell how many are in a list.
    const std::string size = num(event, "size") > 0 ? fmt::format(" ({})", num(event, "size")) : "";
    return fmt::format("enters {} of round {}{}", txt(event, "list"), num(event, "round"), size);
  }
  if (event.type == &ev::rendezvous_completed) {
    return fmt::format("completes round {} with {}", num(event, "round"),
                       num(event, "participants"));
  }
  if (event.type == &ev::rendezvous_joined) {
    return fmt::format("round {}: rank {} of {}", num(event, "round"), num(event, "rank"),
                       num(event, "world_size"));
  }
  if (event.type == &ev::rendezvous_failed) return "rendezvous failed: " + txt(event, "error");
  if (event.type == &ev::rendezvous_left)
    return fmt::format("leaves round {}", num(event, "round"));
  if (event.type == &ev::rendezvous_closed) return "CLOSES the rendezvous";
  if (event.type == &ev::rendezvous_evicted) {
    return fmt::format("evicts {} (silent {} s)", txt(event, "descriptor"),
                       seconds(sim::Duration(num(event, "heartbeat_age"))));
  }
  if (event.type == &ev::rendezvous_waiting_seen)
    return fmt::format("sees {} waiting", num(event, "waiting"));
  if (event.type == &ev::keep_alive_died) return "keep-alive DIED: " + txt(event, "detail");
  if (event.type == &ev::keep_alive_tick && txt(event, "result") == "failed")
    return "keep-alive failed";
  return {};
}

std::string agent_phrase(const sim::Event& event) {
  if (event.type == &ev::agent_started) return "agent starts";
  if (event.type == &ev::agent_finished) {
    return fmt::format("agent {} (exit {})", txt(event, "outcome"), num(event, "exit_code"));
  }
  if (event.type == &ev::agent_signalled) return "ends by " + signal_text(num(event, "signal"));
  if (event.type == &ev::group_restarting) {
    return fmt::format("restarts: {}, {} left", txt(event, "cause"),
                       num(event, "remaining_restarts"));
  }
  if (event.type == &ev::restart_delayed)
    return fmt::format("waits {} s before the restart",
                       seconds(sim::Duration(num(event, "delay"))));
  if (event.type == &ev::job_given_up) return "gives the job up";
  if (event.type == &ev::restart_refused) return "no restart: " + txt(event, "reason");
  if (event.type == &ev::job_rerun) return "runs the job again as " + txt(event, "next_run_id");
  if (event.type == &ev::heartbeat_lost) {
    return fmt::format("no heartbeat of {} for {} s", txt(event, "worker"),
                       seconds(sim::Duration(num(event, "silent"))));
  }
  if (event.type == &ev::heartbeat_returned) {
    return fmt::format("{} beats again after {} s", txt(event, "worker"),
                       seconds(sim::Duration(num(event, "silent"))));
  }
  if (event.type == &ev::failure_reported) return fmt::format("blames rank {}", num(event, "rank"));
  if (event.type == &ev::exit_barrier_entered) return "waits in the exit barrier";
  if (event.type == &ev::exit_barrier_left) {
    return fmt::format("exit barrier {} after {} s", txt(event, "result"),
                       seconds(sim::Duration(num(event, "elapsed"))));
  }
  if (event.type == &ev::worker_stale_read)
    return "worker read a STALE value: " + txt(event, "key");
  if (event.type == &ev::store_serving)
    return fmt::format("serves the {} store", txt(event, "purpose"));
  if (event.type == &ev::store_stopped) return "a store stops";
  return {};
}

/// Of requests that read only those that failed are told, and of answers those that took long.
Phrase store_phrase(const sim::Event& event) {
  constexpr sim::Duration kLong = std::chrono::seconds(1);
  const bool asked = event.type == &ev::worker_store_asked;
  if (!asked && event.type != &ev::worker_store_answered) return {};
  const std::string operation = txt(event, "operation");
  const std::int64_t rank = num(event, "rank");
  const std::string what =
      fmt::format(" of round {}: {} {}", num(event, "round"), operation, txt(event, "key"));
  if (asked) {
    if (!ev::is_store_write(operation, event.field("value").text())) return {};
    const std::string late = ev::is_late_write(event) ? fmt::format("LATE, round {} has begun: ",
                                                                    num(event, "newest_round"))
                                                      : "";
    return {late + "worker rank ", rank, what + " " + txt(event, "value")};
  }
  const sim::Duration took(num(event, "took"));
  const std::string result = txt(event, "result");
  if (result.starts_with("failed") || result == "timed out")
    return {"worker rank ", rank, what + " " + result};
  if (took < kLong || !ev::is_store_write(operation, "")) return {};
  return {"worker rank ", rank,
          fmt::format("{} answered after {} s, in round {}", what, seconds(took),
                      num(event, "newest_round"))};
}

/// Of what a node has several of: workers by their rank, processes by their pid.
Phrase worker_phrase(const sim::Event& event) {
  if (event.type == &ev::worker_signalled)
    return {"sends " + signal_text(num(event, "signal")) + " to worker pid ",
            num(event, "worker_pid"), " (" + txt(event, "reason") + ")"};
  if (event.type == &ev::worker_started)
    return {"worker rank ", num(event, "rank"),
            fmt::format(" of {} starts", num(event, "world_size"))};
  if (event.type == &ev::worker_ended)
    return {"worker rank ", num(event, "rank"), fmt::format(" ended: {}", num(event, "status"))};
  if (event.type == &ev::worker_restarting)
    return {"restarts rank ", num(event, "rank"),
            fmt::format(" alone, {} left", num(event, "remaining_restarts"))};
  if (event.type == &wev::process_ended && num(event, "status") < 0)
    return {"pid ", event.pid.value, " killed by " + signal_text(-num(event, "status"))};
  if (event.type == &wev::process_orphaned) return {"pid ", event.pid.value, " is orphaned"};
  if (event.type == &wev::process_paused) return {"pid ", event.pid.value, " is paused"};
  if (event.type == &wev::process_resumed) return {"pid ", event.pid.value, " goes on"};
  return store_phrase(event);
}

std::string world_phrase(const sim::Event& event, const FaultWords& faults) {
  if (event.type == &wev::node_crashed) return "*** " + txt(event, "name") + ": machine crashes";
  if (event.type == &wev::node_restarted)
    return "*** " + txt(event, "name") + ": machine is up again";
  if (event.type == &wev::fiber_held_up) {
    return fmt::format("*** {} is held up for {} ms", txt(event, "fiber"),
                       num(event, "span") / 1'000'000);
  }
  if (event.type == &wev::core_healed)
    return fmt::format("*** {} healed, the rest stays as it is ***", txt(event, "nodes"));
  if (event.type == &wev::fault_injected)
    return "*** " + faults.of(event) + " " + txt(event, "target");
  if (event.type == &wev::fault_ended) return "*** end of " + faults.of(event);
  return {};
}

Phrase phrase_of(const sim::Event& event, const FaultWords& faults) {
  if (Phrase phrase = worker_phrase(event); phrase.number) return phrase;
  for (const auto tell : {rendezvous_phrase, agent_phrase}) {
    if (std::string text = tell(event); !text.empty()) return {std::move(text)};
  }
  return {world_phrase(event, faults)};
}

}  // namespace

std::string Phrases::operator()(const sim::Event& event) {
  faults_.see(event);
  return phrase_of(event, faults_).text();
}

Timeline::Timeline(std::ostream& out, std::vector<std::string> node_names, std::size_t width,
                   TimelineFilter filter)
    : out_(out),
      node_names_(std::move(node_names)),
      filter_(std::move(filter)),
      uncut_(width == kUncut) {
  filter_.nodes.resize(node_names_.size(), filter_.nodes.empty());
  for (const bool shown : filter_.nodes) {
    columns_before_.push_back(shown_);
    if (shown) ++shown_;
  }
  const std::size_t room = width > kTimeWidth ? width - kTimeWidth : 0;
  column_width_ = shown_ == 0 ? room : room / shown_;
  if (width == kUncut) column_width_ = kUncutColumn;
  columns_ = column_width_ >= kNarrowestColumn;
  if (!columns_) return;
  out_ << pad("", kTimeWidth);
  for (std::size_t node = 0; node < node_names_.size(); ++node) {
    if (filter_.nodes[node]) out_ << pad(fit(node_names_[node], column_width_ - 2), column_width_);
  }
  out_ << '\n';
}

void Timeline::on_event(const sim::Event& event) {
  faults_.see(event);
  if ((filter_.from && event.at < *filter_.from) || (filter_.to && event.at > *filter_.to)) return;
  const std::size_t node = event.node.value;
  if (node < node_names_.size() && !filter_.nodes[node]) return;
  Phrase told = phrase_of(event, faults_);
  if (told.text().empty()) return;
  std::string at = fmt::format("{:>9} s ", seconds(event.at.time_since_epoch()));
  if (!told.number) {
    finish();
    write(at, node, told.before);
    return;
  }
  if (held_ && held_->type == event.type && held_->at == at && held_->node == node &&
      held_->before == told.before && held_->after == told.after &&
      held_->last + 1 == *told.number) {
    ++held_->last;
    return;
  }
  finish();
  held_ = Held{event.type,   std::move(at),        node, std::move(told.before), *told.number,
               *told.number, std::move(told.after)};
}

void Timeline::finish() {
  if (!held_) return;
  const Held held = *std::exchange(held_, std::nullopt);
  const std::string last = held.last == held.first ? "" : fmt::format("..{}", held.last);
  write(held.at, held.node, held.before + std::to_string(held.first) + last + held.after);
}

void Timeline::write(const std::string& at, std::size_t node, const std::string& text) {
  out_ << at;
  if (node >= node_names_.size()) {
    out_ << text << '\n';
  } else if (columns_) {
    const std::size_t before = columns_before_[node];
    out_ << std::string(before * column_width_, ' ')
         << (uncut_ ? text : fit(text, column_width_ * (shown_ - before))) << '\n';
  } else {
    out_ << pad(fit(node_names_[node], 12), 13) << text << '\n';
  }
}

}  // namespace hooke::report
