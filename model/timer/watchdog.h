#pragma once
// The agent's use of file timers (torch/distributed/elastic/agent/server/local_elastic_agent.py:
// _setup_local_watchdog): one server per worker start.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "model/timer/file_timer.h"
#include "model/timer/worker_timers.h"
#include "sim/port/ports.h"

namespace hooke::model {

class Watchdog : public WorkerTimers {
 public:
  /// `told` hears the server's events. `make_table`: of each server.
  Watchdog(sim::Ports& ports, Variant variant, std::function<void(const WatchdogEvent&)> told,
           TimerTableMaker make_table = make_timer_table)
      : ports_(ports),
        variant_(variant),
        told_(std::move(told)),
        make_table_(std::move(make_table)) {}

  /// Starts a server if the agent's environment has TORCHELASTIC_ENABLE_FILE_TIMER=1. Workers are
  /// told of the file by TORCHELASTIC_TIMER_FILE: as the agent's environment has it, even without a
  /// server, else a name drawn for this start. std::runtime_error when the FIFO cannot be made.
  std::map<std::string, std::string> start(const std::string& run_id) override;
  void stop() override;
  [[nodiscard]] const TimerServer* server() const override { return server_.get(); }

 protected:
  /// The file to serve when `path` is asked for. PyTorch takes the file from a process that serves
  /// it already, whose workers then talk to no server or to the wrong agent (T-14).
  virtual std::string free_path(std::string path) { return path; }
  virtual std::unique_ptr<FileTimerServer> make_server(FileTimerOptions options);

  sim::Ports& ports_;

 private:
  /// Returns the path of the FIFO, drawn where `path` is empty.
  std::string serve(std::string path, const std::string& run_id);
  [[nodiscard]] std::string variable(const char* name) const;

  Variant variant_;
  std::function<void(const WatchdogEvent&)> told_;
  TimerTableMaker make_table_;
  std::unique_ptr<FileTimerServer> server_;
};

}  // namespace hooke::model
