// Where the state is, for each kind of store; what the round has published is in round_facts.h.
#include "model/rendezvous/observer.h"

#include <algorithm>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/state/state_codec.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Rounds looked back for a published master: each costs a round trip.
constexpr std::int64_t kRoundsBack = 1'000;

/// What the bytes of a state say, and the rounds' store besides.
RendezvousView view_of(const Value& bytes, Store& store, const std::string& run_id) {
  RendezvousView view;
  view.state = decode_state(bytes, Variant::torch_2_x);  // reads 1.13's too
  view.state_bytes = bytes.size();
  const std::int64_t round = view.state->round;
  HOOKE_CHECK(round >= 0, "rounds are counted from 0");
  for (std::int64_t back = 0; back <= std::min(round, kRoundsBack) && !view.master; ++back) {
    view.master = published_master(store, round_prefix(run_id, round - back) + "/");
    view.master_round = round - back;
  }
  if (view.state->complete && !view.state->closed) {
    const std::string prefix = round_prefix(run_id, round) + "/";
    view.world_size = published_world_size(store, prefix);
    view.workers = published_workers(store, prefix,
                                     static_cast<std::int64_t>(view.state->participants.size()));
  }
  return view;
}

}  // namespace

std::optional<RendezvousView> observe(RendezvousBackend& backend, Store& store,
                                      const std::string& run_id) {
  const auto stored = backend.get_state();
  if (!stored) return std::nullopt;
  return view_of(stored->bytes, store, run_id);
}

std::optional<RendezvousView> observe_c10d(Store& store, const std::string& run_id) {
  const std::string key = c10d_state_key(run_id);
  if (!store.check({key})) return std::nullopt;
  const Value stored = store.get(key);
  if (stored == c10d_no_state()) return RendezvousView{};
  return view_of(decode_stored(stored), store, run_id);
}

}  // namespace hooke::model
