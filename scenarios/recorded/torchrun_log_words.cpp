// What single lines say: of workers, of the rendezvous in detail, and of how an agent ends.
#include <chrono>
#include <nlohmann/json.hpp>

#include "model/observe/trace_events.h"
#include "scenarios/recorded/torchrun_log_reader.h"

namespace hooke::scenario {

namespace ev = model::events;

void TorchrunLogReader::take_workers(std::string_view words) {
  if (!words.starts_with("failed (exitcode: ")) return;
  tell_started();
  const auto status = number_after(words, "failed (exitcode: ");
  const auto local_rank = number_after(words, "local_rank: ");
  for (const Worker& worker : workers_) {
    if (!status || worker.local_rank != local_rank || !agent_.workers.contains(worker.pid))
      continue;
    emit(ev::worker_ended, {std::int64_t{worker.pid.value}, worker.local_rank, worker.rank, *status,
                            std::int64_t{0}});
  }
  if (left_ == 0) {
    emit(ev::group_state, {std::string("FAILED"), max_restarts_});
  }
}

void TorchrunLogReader::take_rendezvous(std::string_view words) {
  const auto says = [&](std::string_view what) { return words.find(what) != words.npos; };
  if (descriptor_.empty()) introduce(words);
  if (says("' attempts to join the next round")) {
    emit(ev::rendezvous_joining, {run_id_, descriptor_, std::max<std::int64_t>(round_, 0)});
  } else if (const auto joined = number_after(words, "' has joined round ")) {
    round_ = *joined;
    const std::int64_t size = number_after(words, "in a world of size ").value_or(1);
    for (const std::size_t place : unsized_) agent_.events[place].field("participants") = size;
    unsized_.clear();
  } else if (const auto completed = number_after(words, "' marked round ")) {
    pending_.completes = completed;
  } else if (says("' marked the rendezvous '") && says("' as closed.")) {
    pending_.closes = true;
  } else if (const auto list = text_after(words, "' added itself to the ", " of round ")) {
    pending_.list = *list == "wait list"         ? "wait_list"
                    : *list == "redundancy list" ? "redundancy_list"
                                                 : "participants";
    pending_.adds_to_round = number_after(words, " of round ");
  } else if (words.starts_with("As part of the sync operation the node(s) ")) {
    take_evicted(words);
  } else if (says("has a stale state and failed to sync")) {
    pending_ = {};
  } else if (says("' has successfully synced")) {
    take_synced();
  } else if (says("' updated its keep-alive heartbeat time for the rendezvous")) {
    pending_.beats = true;
  } else if (says("' has sent a keep-alive heartbeat")) {
    // Of one whose write the lines before have told, this is the end.
    if (!beat_ || now_ - *beat_ > std::chrono::seconds(1)) take_beat();
  }
}

/// A heartbeat that the others can see: of its own, or one with which an agent that waits in a
/// rendezvous renews its place (dynamic_rendezvous.py: _RendezvousJoinOp asks for it, too).
void TorchrunLogReader::take_beat() {
  agent_.shows_life = true;
  beat_ = now_;
  emit(ev::keep_alive_tick, {std::string("ok"), std::string()});
}

/// "localhost_18964_0" is the node localhost.
void TorchrunLogReader::introduce(std::string_view words) {
  const auto said = text_after(words, "The node '", "'");
  if (!said) return;
  const std::string own = "_" + std::to_string(pid_.value) + "_";
  const std::size_t end = said->rfind(own);
  if (end == std::string::npos || end == 0) return;
  agent_.descriptor = descriptor_ = *said;
  agent_.node = said->substr(0, end);
}

/// "… the node(s) 'a_1_0', 'b_2_0' have been removed …", of a write that was accepted.
void TorchrunLogReader::take_evicted(std::string_view words) {
  std::string_view rest = words.substr(0, words.find(" have been removed"));
  for (std::size_t quote = 0; (quote = rest.find('\'')) != rest.npos;) {
    rest = rest.substr(quote + 1);
    const std::size_t end = rest.find('\'');
    if (end == rest.npos) return;
    emit(ev::rendezvous_evicted,
         {run_id_, std::max<std::int64_t>(round_, 0), std::string(rest.substr(0, end)),
          agent_.keep_alive.count(), std::int64_t{1}});
    rest = rest.substr(end + 1);
  }
}

void TorchrunLogReader::take_synced() {
  agent_.tells_detail = true;
  if (pending_.adds_to_round) {
    emit(ev::rendezvous_added, {run_id_, *pending_.adds_to_round, pending_.list, std::int64_t{0}});
  }
  if (pending_.completes) {
    unsized_.push_back(agent_.events.size());
    emit(ev::rendezvous_completed,
         {run_id_, *pending_.completes, std::int64_t{0}, min_nodes_, max_nodes_});
  }
  // An agent that adds itself sends one as well: that says nothing of how often the log tells of heartbeats.
  if (pending_.beats && !pending_.adds_to_round) take_beat();
  if (pending_.closes) emit(ev::rendezvous_closed, {run_id_, round_});
  pending_ = {};
}

/// "torchelastic.worker.status.START" of a worker says the number of its process.
void TorchrunLogReader::take_event_line(std::string_view line) {
  if (!starting_ || line.find("\"torchelastic.worker.status.START\"") == line.npos) return;
  const auto document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("metadata")) return;
  const auto& metadata = document["metadata"];
  if (!metadata.is_object() || !metadata.contains("worker_id") || !metadata.contains("global_rank"))
    return;
  if (!metadata["worker_id"].is_string() || !metadata["global_rank"].is_number_integer()) return;
  const auto pid = number_after(metadata["worker_id"].get<std::string>(), "");
  if (!pid || *pid <= 0 || *pid > std::int64_t{1} << 22) return;
  for (Worker& worker : workers_) {
    if (worker.rank == metadata["global_rank"].get<std::int64_t>()) {
      worker.pid = sim::Pid{static_cast<std::int32_t>(*pid)};
    }
  }
}

/// What an agent dies of is in the report of its exception, whose lines have no head of their own.
void TorchrunLogReader::take_other(std::string_view line) {
  const auto says = [&](std::string_view what) { return line.find(what) != line.npos; };
  if (says("ChildFailedError")) {
    outcome_ = "failed";
  } else if (says("SignalException: Process ")) {
    outcome_ = "signalled";
  } else if (outcome_.empty() && says("torch.distributed.elastic.rendezvous.api.Rendezvous")) {
    error_ = text_after(line, "torch.distributed.elastic.rendezvous.api.", ":").value_or("");
    outcome_ = "error";
  } else if (outcome_.empty() && says("torch.distributed.Dist") && says("Error: ")) {
    outcome_ = "error";
  }
}

}  // namespace hooke::scenario
