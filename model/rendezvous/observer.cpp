// Reads with check and get only: a get of a missing key would wait for it.
#include "model/rendezvous/observer.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "model/rendezvous/backends/c10d_backend.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/state/state_codec.h"

namespace hooke::model {
namespace {

/// Rounds looked back for a published master: each costs a round trip.
constexpr std::int64_t kRoundsBack = 1'000;

std::optional<RendezvousStoreInfo> published_master(Store& store, const std::string& run_id,
                                                    std::int64_t round) {
  const std::string prefix = round_prefix(run_id, round) + "/";
  if (!store.check({prefix + "MASTER_ADDR", prefix + "MASTER_PORT"})) return std::nullopt;
  RendezvousStoreInfo info;
  info.master_addr = store.get(prefix + "MASTER_ADDR").bytes();
  const std::string port = store.get(prefix + "MASTER_PORT").bytes();
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), info.master_port);
  if (parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) return std::nullopt;
  return info;
}

/// The second number of what the agent of rank 0 was told.
std::optional<std::int64_t> published_world_size(Store& store, const std::string& run_id,
                                                 std::int64_t round) {
  const std::string key = round_prefix(run_id, round) + "/torchelastic/assigned_ranks/0";
  if (!store.check({key})) return std::nullopt;
  const auto ranks = nlohmann::json::parse(store.get(key).bytes(), nullptr, false);
  if (!ranks.is_array() || ranks.size() != 4 || !ranks[1].is_number_integer()) return std::nullopt;
  return ranks[1].get<std::int64_t>();
}

/// What the bytes of a state say, and the rounds' store besides.
RendezvousView view_of(const Value& bytes, Store& store, const std::string& run_id) {
  RendezvousView view;
  view.state = decode_state(bytes, Variant::torch_2_x);  // reads 1.13's too
  view.state_bytes = bytes.size();
  const std::int64_t round = view.state->round;
  for (std::int64_t back = 0; back <= std::min(round, kRoundsBack) && !view.master; ++back) {
    view.master = published_master(store, run_id, round - back);
    view.master_round = round - back;
  }
  if (view.state->complete && !view.state->closed) {
    view.world_size = published_world_size(store, run_id, round);
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
