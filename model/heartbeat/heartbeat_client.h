#pragma once
// The worker's side of heartbeats. Losing the server is no reason for a worker to end: it goes on
// trying, and no agent but the server judges.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/heartbeat/peers.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What an agent tells its workers in their environment.
inline constexpr const char* kHeartbeatAddress = "HOOKE_HEARTBEAT_ADDRESS";  ///< HOST:PORT
/// The name to beat under, of this incarnation alone.
inline constexpr const char* kHeartbeatWorker = "HOOKE_HEARTBEAT_WORKER";
/// How often to beat, and the silence after which the worker counts as lost; whole milliseconds.
inline constexpr const char* kHeartbeatInterval = "HOOKE_HEARTBEAT_INTERVAL_MS";
inline constexpr const char* kHeartbeatDeadline = "HOOKE_HEARTBEAT_DEADLINE_MS";
/// "1" where the agent tells a worker that asks which others of its group live.
inline constexpr const char* kHeartbeatPeers = "HOOKE_HEARTBEAT_PEERS";

/// What a worker was told last, and when by its own clock.
struct PeersSeen {
  WorkerLives lives;  ///< by global rank
  sim::MonotonicTime at;
};

struct HeartbeatClientOptions {
  sim::Endpoint server;
  std::string worker;
  sim::Duration interval = std::chrono::seconds(1);
  bool asks = false;  ///< which others live, with each beat
};

/// What the environment says; nullopt where no agent waits for beats. std::invalid_argument naming
/// the variable that is missing or means nothing.
std::optional<HeartbeatClientOptions> heartbeat_options(
    const std::map<std::string, std::string>& environment);

class HeartbeatClient {
 public:
  /// std::invalid_argument for an interval that is not greater than zero.
  HeartbeatClient(sim::Ports& ports, HeartbeatClientOptions options);
  /// Falls silent; an agent that wants it told calls stop() before.
  ~HeartbeatClient();
  HeartbeatClient(const HeartbeatClient&) = delete;
  HeartbeatClient& operator=(const HeartbeatClient&) = delete;

  /// Beats now and then every interval, on a fiber of its own. What cannot be sent is left out, and
  /// the next beat goes over a new connection. Calling it again ends a pause.
  void start();
  /// Sends nothing until start(): what a hanging worker looks like.
  void pause();
  /// Sends the last beat, if there is a connection, and ends. Harmless when called again.
  void stop();
  /// Beats that have been handed to a connection.
  [[nodiscard]] std::uint64_t sent() const;
  /// What the agent has said of the workers of the group; nullopt before its first answer. It is
  /// not withdrawn when the agent falls silent: `at` tells how old it is.
  [[nodiscard]] std::optional<PeersSeen> peers() const;

 private:
  class Pulse;
  std::shared_ptr<Pulse> pulse_;  ///< outlives us for as long as its fiber runs
};

}  // namespace hooke::model
