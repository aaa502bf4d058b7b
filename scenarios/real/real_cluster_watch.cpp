// What the cluster's processes write, and how they end: files are read on from where the last look
// stopped, and an end is told when its last words have been read.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/observe/trace_events.h"
#include "scenarios/real/real_cluster.h"
#include "scenarios/recorded/trace_line.h"
#include "scenarios/recorded/worker_events.h"
#include "sim/real/process_tree.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Longer than it takes to be told what a process wrote before it ended, and looks enough to read
/// it and to tell it, however long one takes on a busy machine.
constexpr Duration kLastWords = 300ms;
constexpr int kLastLooks = 3;

}  // namespace

void RealCluster::look() {
  find_traces();
  for (auto& [path, tail] : tails_) read_more(path, tail);
  look_at_agents();
  look_at_workers();
}

/// Workers name their files "worker-<node>-<local rank>-<incarnation>.jsonl".
void RealCluster::find_traces() {
  const auto names = ports_.files.list(directory_);
  if (!names) return;
  for (const std::string& name : names.value()) {
    if (!name.starts_with("worker-") || !name.ends_with(".jsonl")) continue;
    const std::string path = directory_ + "/" + name;
    if (tails_.contains(path)) continue;
    const std::string node = name.substr(7, name.find('-', 7) - 7);
    const auto found = std::find(node_names_.begin(), node_names_.end(), node);
    if (found == node_names_.end()) continue;
    tails_[path].node = sim::NodeId{static_cast<std::uint32_t>(found - node_names_.begin())};
  }
}

void RealCluster::read_more(const std::string& path, Tail& tail) {
  for (;;) {
    const auto more = ports_.files.read_from(path, tail.read);
    if (!more || more.value().empty()) return;
    tail.read += more.value().size();
    tail.rest += more.value();
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = tail.rest.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const std::string line = tail.rest.substr(begin, end - begin);
      if (tail.agent.value == 0) {
        take_line(line, tail.node);
      } else if (const auto said = tail.log.read(line)) {
        merger_.note({written_at(*said, now(), ports_.clock.wall_now()),
                      tail.node,
                      tail.agent,
                      &events::agent_logged,
                      {static_cast<std::int64_t>(said->what)}});
      }
    }
    tail.rest.erase(0, begin);
  }
}

void RealCluster::take_line(const std::string& line, sim::NodeId node) {
  const auto document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object()) return;
  const sim::EventType* const type = event_type_called(document.value("type", ""));
  if (type == nullptr) return;
  RawEvent event;
  event.at = sim::WorldTime(Duration(document.value("at_ns", std::int64_t{0})));
  event.node = node;
  event.pid = sim::Pid{document.value("pid", 0)};
  event.type = type;
  event.wall = sim::WallTime(Duration(document.value("wall_ns", std::int64_t{0})));
  for (std::size_t i = 0; i < type->field_count; ++i) {
    const auto& value = document.value(std::string(type->fields[i]), nlohmann::json());
    if (value.is_string()) {
      event.fields.emplace_back(with_names(value.get<std::string>()));
    } else {
      event.fields.emplace_back(value.is_number() ? value.get<std::int64_t>() : 0);
    }
  }
  merger_.note(std::move(event));
}

/// Addresses become the names of the scenario's nodes.
std::string RealCluster::with_names(const std::string& text) const {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 4, "127.") != 0) {
      out += text[at++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string name = word;
    for (std::uint32_t i = 0; i < scenario_.cluster.nodes.size(); ++i) {
      if (address(sim::NodeId{i}) == word) name = node_names_[i];
    }
    out += name;
    at = end;
  }
  return out;
}

void RealCluster::look_at_agents() {
  for (std::size_t i = 0; i < agents_.size();) {
    const auto status = ports_.processes.poll(agents_[i].pid);
    if (!status) {
      ++i;
      continue;
    }
    const Agent gone = agents_[i];
    agents_.erase(agents_.begin() + static_cast<std::ptrdiff_t>(i));
    // Its last words first.
    for (auto& [path, tail] : tails_) read_more(path, tail);
    agent_ends(gone, *status);
  }
  if (store_process_) {
    if (const auto status = ports_.processes.poll(*store_process_)) {
      note(store_machine_, *store_process_, wev::process_ended, {status->as_python()});
      store_process_.reset();
    }
  }
}

/// What torchrun's end means is in its log: the exception that it died of.
void RealCluster::agent_ends(const Agent& agent, const sim::ExitStatus& status) {
  if (program_.kind == AgentKind::torchrun && !status.signal) {
    const auto log = ports_.files.read(agent.log);
    const std::string text = log ? log.value() : "";
    const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
    const char* const outcome = says("Rendezvous gracefully exited")    ? "graceful_exit"
                                : status.code == 0                      ? "succeeded"
                                : agent.told && says("SignalException") ? "signalled"
                                : says("ChildFailedError")              ? "failed"
                                                                        : "error";
    note(agent.node, agent.pid, ev::agent_finished,
         {std::string(outcome), std::int64_t{status.code}, std::string("see ") + agent.log});
  }
  merger_.note({end_of(agent.pid, status),
                agent.node,
                agent.pid,
                &wev::process_ended,
                {std::int64_t{status.as_python()}}});
}

sim::WorldTime RealCluster::end_of(sim::Pid pid,
                                   const std::optional<sim::ExitStatus>& status) const {
  const auto sent = kill_signals_.find(pid);
  const bool killed = status && status->signal == sim::Signal::kill &&
                      sent != kill_signals_.end() && sent->second.signal == sim::Signal::kill;
  return killed ? sent->second.at : now();
}

/// Hooke agents tell of their workers' ends while they live. No other agent tells of the others'.
void RealCluster::look_at_workers() {
  for (const TraceMerger::Worker& worker : merger_.living_workers()) {
    const bool agent_lives = std::any_of(agents_.begin(), agents_.end(), [&](const Agent& agent) {
      return agent.pid == worker.agent;
    });
    if (agent_lives && program_.kind == AgentKind::hooke) continue;
    auto gone = gone_.find(worker.pid);
    if (gone == gone_.end()) {
      const auto reaped = real::reap_adopted(worker.pid);
      if (!reaped && real::is_running(worker.pid)) continue;
      gone = gone_.emplace(worker.pid, Gone{end_of(worker.pid, reaped), reaped}).first;
    }
    // What it or its agent has said of its end may still have to be told.
    if (gone->second.told || ++gone->second.looks < kLastLooks ||
        now() - gone->second.since < kLastWords)
      continue;
    gone->second.told = true;
    std::int64_t status = -static_cast<int>(sim::Signal::term);
    if (gone->second.status) {
      status = gone->second.status->as_python();
    } else if (worker.exit_code) {
      status = *worker.exit_code;
    } else if (const auto sent = kill_signals_.find(worker.pid); sent != kill_signals_.end()) {
      status = -static_cast<int>(sent->second.signal);
    }
    merger_.note({gone->second.since, worker.node, worker.pid, &wev::process_ended, {status}});
  }
}

}  // namespace hooke::scenario
