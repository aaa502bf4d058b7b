// Etcd's refusals are told apart here: what is not there is no error of a look.
#include "model/rendezvous/other_observers.h"

#include <algorithm>
#include <stdexcept>

#include "model/etcd/v2_store.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/core/errors.h"

namespace hooke::model {
namespace {

/// nullopt when the path is not there.
std::optional<EtcdV2Answer> found(EtcdV2Client& client, const std::string& path) {
  try {
    return client.list(path);
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return std::nullopt;
    throw RendezvousConnectionError(error.what());
  } catch (const EtcdConnectionError& error) {
    throw RendezvousConnectionError(error.what());
  }
}

LegacyState state_of(const std::string& text) {
  try {
    return parse_legacy_state(text);
  } catch (const std::invalid_argument& error) {
    throw RendezvousStateError(error.what());
  }
}

/// By rank, which is the number that the path of a member's key ends in.
std::vector<bool> kept_keys(const std::vector<std::string>& keep_alives,
                            const std::vector<EtcdV2Node>& there) {
  std::vector<bool> out(keep_alives.size(), false);
  for (const EtcdV2Node& node : there) {
    if (std::find(keep_alives.begin(), keep_alives.end(), node.key) == keep_alives.end()) continue;
    const std::string rank = node.key.substr(node.key.rfind('_') + 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (rank == std::to_string(i)) out[i] = true;
    }
  }
  return out;
}

}  // namespace

std::optional<LegacyEtcdView> observe_legacy_etcd(sim::Ports& ports,
                                                  const std::shared_ptr<EtcdV2Client>& client,
                                                  std::string prefix, const std::string& run_id) {
  if (!prefix.ends_with('/')) prefix += '/';
  const std::string run = prefix + "run_" + run_id + "/rdzv";
  if (!found(*client, run)) return std::nullopt;
  LegacyEtcdView view;
  const auto active = found(*client, run + "/active_version");
  if (!active) return view;
  view.state = state_of(active->node.value);
  view.state_bytes = active->node.value.size();
  const LegacyState& state = *view.state;
  if (!state.version || !state.keep_alives) return view;
  const std::string version = run + "/v_" + std::to_string(*state.version);
  if (const auto listed = found(*client, version)) {
    view.kept = kept_keys(*state.keep_alives, listed->below());
  }
  if (state.status != LegacyState::Status::final_) return view;
  try {
    const std::shared_ptr<Store> store = make_etcd_v2_store(ports, client, version + "/kv");
    view.master = published_master(*store, "");
    view.workers =
        published_workers(*store, "", static_cast<std::int64_t>(state.participants->size()));
  } catch (const EscapedPythonError& error) {
    throw RendezvousConnectionError(error.what());
  }
  return view;
}

std::optional<StaticView> observe_static(Store& store, const std::string& run_id) {
  const std::string prefix = run_id + "/";
  const auto world_size = published_world_size(store, prefix);
  if (!world_size) return std::nullopt;
  return StaticView{*world_size, published_workers_of(store, prefix, *world_size)};
}

}  // namespace hooke::model
