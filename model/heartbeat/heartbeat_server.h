#pragma once
// Listens for the heartbeats of workers, on this machine or on others, and says which has fallen
// silent: of a dead process, of one that hangs, or of a link that carries nothing any more. It is
// the lighter alternative to timers: it tells, and never ends a worker.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/heartbeat/heartbeat_table.h"
#include "sim/port/ports.h"

namespace hooke::model {

class HeartbeatServer final : public sim::AcceptHandler {
 public:
  /// Listens on `port` (0: any). std::invalid_argument for terms without a span,
  /// std::runtime_error when the port is taken.
  HeartbeatServer(sim::Ports& ports, sim::PortNumber port, HeartbeatTerms terms)
      : HeartbeatServer(ports, port, std::make_unique<HeartbeatTable>(terms)) {}
  /// Likewise, with a table of the caller's, which is not null.
  HeartbeatServer(sim::Ports& ports, sim::PortNumber port, std::unique_ptr<HeartbeatTable> table);
  ~HeartbeatServer() override;
  HeartbeatServer(const HeartbeatServer&) = delete;
  HeartbeatServer& operator=(const HeartbeatServer&) = delete;

  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }
  /// Beats of the worker of this name count from now on; of others they are refused.
  void expect(const std::string& worker) { table_->expect(worker, ports_.clock.monotonic_now()); }
  /// It has ended otherwise: its silence means nothing.
  void forget(const std::string& worker) { table_->forget(worker); }
  /// Judges now, tells of each new loss on the trace, and returns all that are lost, by name.
  /// An agent that uses the server calls this as often as its terms say.
  std::vector<SilentWorker> look();

  /// How a worker is as of the latest look.
  [[nodiscard]] WorkerLife life(const std::string& worker) const { return table_->life(worker); }
  /// From now on a worker that asks for its peers is sent this line. Called on the event loop.
  void answer_with(std::function<std::string()> line) { answer_ = std::move(line); }

  void on_accept(std::unique_ptr<sim::Stream> stream) override;

 private:
  class Connection;
  /// What the connection is to be sent; empty: nothing.
  std::string take(std::string_view line);

  sim::Ports& ports_;
  std::unique_ptr<HeartbeatTable> table_;
  std::unique_ptr<sim::Listener> listener_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
  std::function<std::string()> answer_;
};

}  // namespace hooke::model
