// A key per agent, written and read by all in turn: in one request for those that are known to be
// there, as a request for one that is not would wait for it.
#include "model/agent/peer_exchange.h"

#include <algorithm>
#include <chrono>

#include "model/store/short_timeout.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// For how long an answer is waited for.
constexpr sim::Duration kPeersReply = std::chrono::seconds(5);
/// At most so many agents that have told nothing are looked for at once: PyTorch's never will.
constexpr std::size_t kLookedForMax = 8;

std::string key_of_agent(std::int64_t group_rank) {
  return "hooke/workers/" + std::to_string(group_rank);
}

}  // namespace

PeerExchange::PeerExchange(sim::Ports& ports, const WorkerGroup& group, sim::Duration interval,
                           sim::Duration deadline)
    : ports_(ports),
      store_(group.store),
      own_key_(key_of_agent(group.group_rank)),
      base_rank_(group.ranks.base_rank),
      interval_(interval),
      deadline_(deadline),
      // What the ranks were assigned with came from a store, and may name any size.
      lives_(
          static_cast<std::size_t>(std::clamp<std::int64_t>(group.ranks.world_size, 0, kPeersMax)),
          WorkerLife::unknown) {
  HOOKE_CHECK(store_ != nullptr, "a peer exchange has a store");
  HOOKE_CHECK(interval_ < deadline_,
              "the interval of the peer exchange is shorter than its deadline");
  for (std::int64_t rank = 0; rank < group.group_world_size; ++rank) {
    if (rank != group.group_rank) peers_.push_back({key_of_agent(rank), {}, std::nullopt});
  }
}

void PeerExchange::exchange(const WorkerLives& own) {
  HOOKE_CHECK(!own.empty(), "an agent publishes the life of at least one worker");
  put(base_rank_, own);
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  if (peers_.empty() || (latest_ && now - *latest_ < interval_)) return;
  latest_ = now;
  try {
    const ShortTimeout brief(*store_, kPeersReply);
    tell(own);
    ask();
    look_for_new_ones();
  } catch (const StoreError&) {
    // Those that are not heard for a deadline are silent. A store that does not answer must not keep
    // the agent from its workers again and again.
    latest_ = ports_.clock.monotonic_now() + deadline_ - interval_;
  }
  for (Peer& peer : peers_) {
    HOOKE_CHECK(peer.heard.has_value() || peer.told.lives.empty(),
                "a peer with known lives was heard from");
    HOOKE_CHECK(!peer.heard || *peer.heard <= ports_.clock.monotonic_now(),
                "the time of the last news is not in the future");
    if (!peer.heard || ports_.clock.monotonic_now() - *peer.heard <= deadline_) continue;
    WorkerLives silent = peer.told.lives;
    std::replace(silent.begin(), silent.end(), WorkerLife::alive, WorkerLife::silent);
    put(peer.told.base_rank, silent);
  }
}

void PeerExchange::tell(const WorkerLives& own) {
  store_->set(own_key_, Value(encode_told({base_rank_, ++count_, own})));
}

void PeerExchange::ask() {
  std::vector<Peer*> known;
  std::vector<std::string> keys;
  for (Peer& peer : peers_) {
    if (!peer.heard) continue;
    known.push_back(&peer);
    keys.push_back(peer.key);
  }
  if (keys.empty()) return;
  const std::vector<Value> values = store_->multi_get(keys);
  HOOKE_CHECK(values.size() == known.size(), "the store gave as many values as it was asked for");
  for (std::size_t i = 0; i < known.size(); ++i) take(*known[i], values.at(i).bytes());
}

void PeerExchange::look_for_new_ones() {
  std::size_t looked_for = 0;
  for (std::size_t i = 0; i < peers_.size() && looked_for < kLookedForMax; ++i) {
    Peer& peer = peers_[next_++ % peers_.size()];
    if (peer.heard) continue;
    ++looked_for;
    if (store_->check({peer.key})) take(peer, store_->get(peer.key).bytes());
  }
  HOOKE_CHECK(looked_for <= kLookedForMax, "one look asks for at most kLookedForMax agents");
}

void PeerExchange::take(Peer& peer, const std::string& text) {
  const auto told = parse_told(text);
  if (!told || (peer.heard && told->count == peer.told.count)) return;
  peer.told = *told;
  peer.heard = ports_.clock.monotonic_now();
  put(told->base_rank, told->lives);
}

void PeerExchange::put(std::int64_t base_rank, const WorkerLives& lives) {
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::size_t rank = static_cast<std::size_t>(base_rank) + i;
    if (rank < lives_.size()) lives_[rank] = lives[i];
  }
}

}  // namespace hooke::model
