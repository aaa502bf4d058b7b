#pragma once
// The log of one torchrun agent, line by line, as what a hooke agent would have traced.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/recorded/agent_trace.h"
#include "scenarios/recorded/torchrun_line.h"

namespace hooke::scenario {

/// Workers of one agent; more are no log of torchrun.
inline constexpr std::size_t kLoggedWorkersMax = 1024;

class TorchrunLogReader {
 public:
  explicit TorchrunLogReader(const std::string& path) {
    agent_.path = path;
    agent_.is_log = true;
    agent_.tells_detail = agent_.shows_life = false;
  }

  /// `number`: of the line, from 1. ScenarioError for the begin of a second agent.
  void take(std::string_view line, std::size_t number);
  /// After the last line. ScenarioError when no agent has begun.
  AgentTrace finish();

 private:
  struct Worker {
    std::int64_t local_rank = 0, rank = 0;
    sim::Pid pid{};
  };
  struct Pending {  ///< told in detail, and not yet accepted by the store
    std::optional<std::int64_t> completes, adds_to_round;
    std::string list;
    bool closes = false, beats = false;
  };

  void begin(const TorchrunLine& line, std::size_t number);
  void take_setting(std::string_view words);
  void take_launched();
  void take_result(std::string_view words);
  void take_agent(const TorchrunLine& line);
  void take_restart(std::string_view words);
  void take_ending(std::string_view words);
  void take_workers(std::string_view words);
  void take_rendezvous(std::string_view words);
  void introduce(std::string_view words);
  void take_evicted(std::string_view words);
  void take_synced();
  void take_beat();
  void take_event_line(std::string_view line);
  void take_other(std::string_view line);
  void start_workers();
  void tell_started();
  void workers_end(std::int64_t status, bool stopped);
  void emit(const sim::EventType& type, std::vector<RawEvent::Field> fields);

  AgentTrace agent_;
  bool begun_ = false, launched_ = false, in_settings_ = false, in_result_ = false;
  sim::WorldTime now_{};
  sim::Pid pid_{};
  std::map<std::string, std::string> settings_, result_;
  std::string run_id_, descriptor_, outcome_, error_;
  std::int64_t round_ = -1, size_ = 0, restarts_ = 0, max_restarts_ = 3, left_ = 3;
  std::int64_t min_nodes_ = 1, max_nodes_ = 1;
  bool starting_ = false, succeeded_ = false;
  sim::WorldTime started_{};  ///< when its workers were
  std::vector<Worker> workers_;
  std::int32_t made_up_ = 0;
  Pending pending_;
  std::optional<sim::WorldTime> beat_;  ///< its latest heartbeat
  std::vector<std::size_t> unsized_;    ///< places of rendezvous.completed without its size
};

}  // namespace hooke::scenario
