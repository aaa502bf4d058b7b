#pragma once
// What the agents of a round tell each other of their workers, over the round's store, so that each
// can tell its own workers which others live. PyTorch's agents take no part: their workers stay
// unknown, and nothing that they read or write is touched.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/agent/worker_group.h"
#include "model/heartbeat/peers.h"
#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

class PeerExchange {
 public:
  /// Tells and asks every `interval`; the workers of an agent that has told nothing new for
  /// `deadline` are silent.
  PeerExchange(sim::Ports& ports, const WorkerGroup& group, sim::Duration interval,
               sim::Duration deadline);

  /// `own`: this agent's workers by local rank, as they are now. To be called more often than the
  /// interval. A store that fails is no error: the others fall silent, here, and this agent there.
  void exchange(const WorkerLives& own);
  /// All workers of the group by global rank, as of the latest exchange.
  [[nodiscard]] const WorkerLives& lives() const { return lives_; }

 private:
  /// Another agent of the round.
  struct Peer {
    std::string key;
    ToldByAgent told;
    std::optional<sim::MonotonicTime> heard;  ///< when it was told; nullopt: it has told nothing
  };

  void tell(const WorkerLives& own);
  void ask();
  void look_for_new_ones();
  void take(Peer& peer, const std::string& text);
  void put(std::int64_t base_rank, const WorkerLives& lives);

  sim::Ports& ports_;
  std::shared_ptr<Store> store_;
  std::string own_key_;
  std::int64_t base_rank_;
  sim::Duration interval_, deadline_;
  std::uint64_t count_ = 0;
  std::optional<sim::MonotonicTime> latest_;
  std::vector<Peer> peers_;  ///< without this agent
  std::size_t next_ = 0;     ///< of peers_, to be looked for
  WorkerLives lives_;
};

}  // namespace hooke::model
