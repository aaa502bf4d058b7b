// Each line that matters becomes the event that a hooke agent would have told at that place, so that
// the files of both kinds of agents are judged by the same code. Lines are those of PyTorch 2.4 and
// later: launcher/api.py, elastic/agent/server/api.py, elastic/multiprocessing/api.py and
// elastic/rendezvous/dynamic_rendezvous.py; event lines are those of --event-log-handler console.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <utility>

#include "model/observe/trace_events.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/line_label.h"
#include "scenarios/recorded/torchrun_log_reader.h"
#include "scenarios/recorded/trace_reader.h"
#include "sim/port/process_host.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;
using namespace std::chrono_literals;

/// Process numbers for workers of which no event line tells one; the kernel gives none so large.
constexpr std::int32_t kFirstMadeUpPid = 1'000'000'000;

std::int64_t span(sim::Duration of) {
  return of.count();
}

}  // namespace

void TorchrunLogReader::emit(const sim::EventType& type, std::vector<RawEvent::Field> fields) {
  add_event(agent_, {now_, sim::NodeId{}, pid_, &type, std::move(fields),
                     sim::WallTime(now_.time_since_epoch())});
}

void TorchrunLogReader::take(std::string_view line, std::size_t number) {
  const auto parts = split_torchrun_line(line);
  if (!parts) {
    if (begun_) line.starts_with('{') ? take_event_line(line) : take_other(line);
    return;
  }
  const bool launcher = parts->source == "torch/distributed/launcher/api.py";
  if (launcher && parts->words.starts_with("Starting elastic_operator")) begin(*parts, number);
  if (!begun_ || parts->pid != pid_) return;
  // Written at New Year: the line says no year.
  sim::WorldTime at = parts->at;
  while (at < now_ - 24h * 180) at += 24h * 366;
  now_ = std::max(now_, at);
  if (in_settings_ && launcher) return take_setting(parts->words);
  in_settings_ = false;
  // Whatever it says first: an agent begins before it does anything.
  if (!launched_ && parts->source.starts_with("torch/distributed/elastic/")) take_launched();
  if (parts->source == "torch/distributed/elastic/agent/server/api.py") {
    take_agent(*parts);
  } else if (parts->source == "torch/distributed/elastic/multiprocessing/api.py") {
    take_workers(parts->words);
  } else if (parts->source == "torch/distributed/elastic/rendezvous/dynamic_rendezvous.py") {
    tell_started();
    take_rendezvous(parts->words);
  } else {
    take_other(parts->words);
  }
}

void TorchrunLogReader::begin(const TorchrunLine& line, std::size_t number) {
  if (begun_) {
    throw ScenarioError(agent_.path + ": line " + std::to_string(number) +
                        ": expected the log of one agent, got the begin of another (process " +
                        std::to_string(line.pid.value) + "); give each agent's log as a file");
  }
  begun_ = in_settings_ = true;
  pid_ = line.pid;
  now_ = line.at;
}

void TorchrunLogReader::take_setting(std::string_view words) {
  const std::size_t colon = words.find(" : ");
  if (colon == words.npos) return;
  std::string name(words.substr(0, colon));
  std::erase(name, ' ');
  settings_[name] = std::string(words.substr(colon + 3));
}

/// Begins once its address is known, which its first line of the rendezvous says.
void TorchrunLogReader::take_launched() {
  launched_ = true;
  const auto number = [&](const char* name, std::int64_t otherwise) {
    return number_after(settings_[name], "").value_or(otherwise);
  };
  const std::string& configured = settings_["rdzv_configs"];
  const auto seconds = [&](const std::string& name, std::int64_t otherwise) {
    for (const char* const quote : {"': ", "': '"}) {
      if (const auto said = number_after(configured, "'" + name + quote)) return *said;
    }
    return otherwise;
  };
  run_id_ = settings_["run_id"];
  min_nodes_ = number("min_nodes", 1);
  max_nodes_ = number("max_nodes", 1);
  left_ = max_restarts_ = number("max_restarts", 3);
  emit(ev::agent_started, {run_id_, settings_["rdzv_backend"], min_nodes_, max_nodes_,
                           number("nproc_per_node", 1), max_restarts_, span(30s)});
  const auto span_of = [&](const char* name, std::int64_t otherwise) {
    return span(
        std::chrono::seconds(std::clamp<std::int64_t>(seconds(name, otherwise), 0, 1 << 24)));
  };
  const std::int64_t attempts =
      std::clamp<std::int64_t>(seconds("keep_alive_max_attempt", 3), 1, 1 << 10);
  emit(ev::agent_settings, {span_of("join_timeout", 600), span_of("last_call_timeout", 30),
                            span_of("close_timeout", 30), span_of("heartbeat_timeout", 5),
                            span_of("keep_alive_interval", 5) * attempts,
                            span_of("read_timeout", 60), span(100ms), span(300s)});
}

void TorchrunLogReader::take_result(std::string_view words) {
  const std::size_t equals = words.find('=');
  if (equals == words.npos) return;
  std::string name(words.substr(0, equals));
  std::erase(name, ' ');
  result_[name] = std::string(words.substr(equals + 1));
}

void TorchrunLogReader::take_agent(const TorchrunLine& line) {
  const std::string_view words = line.words;
  const auto says = [&](std::string_view what) { return words.find(what) != words.npos; };
  if (in_result_ && words.starts_with("  ")) return take_result(words);
  in_result_ = false;
  if (says("] Rendezvous complete for workers. Result:")) {
    in_result_ = true;
    result_.clear();
  } else if (says("] Starting worker group")) {
    start_workers();
  } else if (!words.empty()) {
    tell_started();
    if (says("] Rendezvous'ing worker group")) {
      if (workers_.empty()) return;
      workers_end(-static_cast<int>(sim::Signal::term), true);
      emit(ev::group_state, {std::string("STOPPED"), restarts_});
    } else if (says("will restart worker group")) {
      take_restart(words);
    } else {
      take_ending(words);
    }
  }
}

void TorchrunLogReader::take_restart(std::string_view words) {
  if (const auto left = number_after(words, "] Worker group FAILED. ")) {
    emit(ev::group_state, {std::string("FAILED"), restarts_});
    left_ = std::max<std::int64_t>(*left - 1, 0);
    emit(ev::group_restarting, {std::string("worker_failure"), left_, round_});
  } else if (const auto waiting = number_after(words, "] Detected ")) {
    emit(ev::rendezvous_waiting_seen, {run_id_, round_, *waiting});
    emit(ev::group_restarting, {std::string("membership_change"), left_, round_});
  }
}

void TorchrunLogReader::take_ending(std::string_view words) {
  const auto says = [&](std::string_view what) { return words.find(what) != words.npos; };
  if (says("] worker group successfully finished.")) {
    workers_end(0, false);
    succeeded_ = true;
    emit(ev::group_state, {std::string("SUCCEEDED"), restarts_});
  } else if (words.starts_with("Local worker group finished (")) {
    emit(ev::exit_barrier_entered, {run_id_, round_, size_});
  } else if (words.starts_with("Done waiting for other agents.") ||
             words.starts_with("Error waiting on exit barrier.")) {
    const std::int64_t waited = number_after(words, "Elapsed: ").value_or(0);
    const bool passed = words.starts_with("Done");
    outcome_ = succeeded_ ? "succeeded" : outcome_;
    emit(ev::exit_barrier_left,
         {run_id_, round_,
          std::string(passed          ? "passed"
                      : waited >= 300 ? "timed_out"
                                      : "failed"),
          span(std::chrono::seconds(std::clamp<std::int64_t>(waited, 0, 1 << 24)))});
  } else if (const auto signal = number_after(words, "Received ");
             signal && says(" death signal, shutting down workers")) {
    emit(ev::agent_signalled, {*signal, std::string("running")});
    outcome_ = "signalled";
  } else if (words.starts_with("Rendezvous gracefully exited")) {
    outcome_ = "graceful_exit";
  }
}

/// The agent has joined its round: its ranks, and its workers as soon as their numbers are known.
void TorchrunLogReader::start_workers() {
  restarts_ = number_after(result_["restart_count"], "").value_or(0);
  const std::int64_t rank = number_after(result_["group_rank"], "").value_or(0);
  size_ = number_after(result_["group_world_size"], "").value_or(1);
  const std::int64_t port = number_after(result_["master_port"], "").value_or(0);
  if (round_ >= 0) {
    emit(ev::rendezvous_joined,
         {run_id_, descriptor_, round_, rank, size_, result_["master_addr"], port});
  }
  const auto locals = numbers_of(result_["local_ranks"], kLoggedWorkersMax);
  const auto globals = numbers_of(result_["global_ranks"], kLoggedWorkersMax);
  const auto sizes = numbers_of(result_["global_world_sizes"], 1);
  const std::int64_t world = sizes.empty() ? size_ : sizes.front();
  emit(ev::ranks_assigned,
       {run_id_, round_, rank, size_, globals.empty() ? rank : globals.front(), world});
  workers_.clear();
  for (std::size_t i = 0; i < std::min(locals.size(), globals.size()); ++i) {
    workers_.push_back({locals[i], globals[i], sim::Pid{}});
  }
  result_["world"] = std::to_string(world);
  starting_ = true;
  started_ = now_;
}

void TorchrunLogReader::tell_started() {
  if (!starting_) return;
  starting_ = false;
  const sim::WorldTime now = std::exchange(now_, started_);
  const std::string master = result_["master_addr"] + ":" + result_["master_port"];
  const std::int64_t world = number_after(result_["world"], "").value_or(1);
  for (Worker& worker : workers_) {
    if (worker.pid.value == 0) {
      made_up_ = (made_up_ + 1) % 200;
      worker.pid = sim::Pid{kFirstMadeUpPid + pid_.value * 200 + made_up_};
    }
    emit(ev::worker_started, {run_id_, round_, std::int64_t{worker.pid.value}, worker.local_rank,
                              worker.rank, world, restarts_, master});
  }
  emit(ev::group_state, {std::string("HEALTHY"), restarts_});
  now_ = now;
}

void TorchrunLogReader::workers_end(std::int64_t status, bool stopped) {
  for (const Worker& worker : workers_) {
    if (!agent_.workers.contains(worker.pid)) continue;
    emit(ev::worker_ended, {std::int64_t{worker.pid.value}, worker.local_rank, worker.rank, status,
                            std::int64_t{stopped}});
  }
}

AgentTrace TorchrunLogReader::finish() {
  if (!begun_) {
    throw ScenarioError(
        agent_.path +
        ": line 1: expected a trace of hooke (an event as a JSON object), a record of hooke state "
        "--record, or the log of a torchrun agent with LOGLEVEL=INFO, got none of them");
  }
  if (!launched_) take_launched();
  tell_started();
  if (agent_.node.empty()) agent_.node = "pid " + std::to_string(pid_.value);
  if (!error_.empty()) emit(ev::rendezvous_failed, {run_id_, error_, std::string()});
  if (outcome_ == "signalled") workers_end(-static_cast<int>(sim::Signal::term), true);
  if (outcome_ == "failed") workers_end(-static_cast<int>(sim::Signal::term), true);
  if (!outcome_.empty()) {
    const bool well = outcome_ == "succeeded" || outcome_ == "graceful_exit";
    emit(ev::agent_finished, {outcome_, std::int64_t{well ? 0 : 1}, std::string()});
  }
  return std::move(agent_);
}

namespace {

/// A worker's output may hold anything: a longer line is cut, and none of it reaches a terminal as a
/// command.
bool read_log_line(std::streambuf& bytes, std::string& line) {
  line.clear();
  int c = bytes.sbumpc();
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = bytes.sbumpc()) {
    const bool control = (c < 0x20 && c != '\t') || c == 0x7f;
    if (line.size() < kTraceLineBytesMax) line += control ? '?' : static_cast<char>(c);
  }
  return true;
}

}  // namespace

AgentTrace read_torchrun_log(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_unopened(path, errno);
  TorchrunLogReader reader(path);
  LineLabel label(path);
  std::string line;
  for (std::size_t number = 1; read_log_line(*in.rdbuf(), line); ++number)
    reader.take(label.without(line, number), number);
  return reader.finish();
}

}  // namespace hooke::scenario
