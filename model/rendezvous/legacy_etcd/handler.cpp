// "etcd": the legacy rendezvous as an agent's handler
// (etcd_rendezvous.py:EtcdRendezvousHandler, create_rdzv_handler).
#include "model/rendezvous/legacy_etcd/handler.h"

#include <functional>
#include <stdexcept>
#include <utility>

#include "model/etcd/v2_store.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/backends/etcd_backend.h"
#include "model/rendezvous/backends/etcd_server.h"
#include "model/rendezvous/core/bootstrap.h"
#include "model/rendezvous/core/key_prefix.h"
#include "model/rendezvous/legacy_etcd/rendezvous.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"

namespace hooke::model {
namespace {

/// A keep-alive lives for ten seconds and is renewed after five: what is left when one renewal has
/// failed.
constexpr sim::Duration kOutageLimit = std::chrono::seconds(5);
/// For how long a hardened agent asks a round's store again that cannot be reached: as long as
/// PyTorch waits for one answer.
constexpr sim::Duration kStoreOutage = std::chrono::seconds(60);
/// How long after a failed attempt to close a hardened agent tries again.
constexpr sim::Duration kCloseAgain = std::chrono::milliseconds(200);
/// How often a hardened agent looks for members that are gone.
constexpr sim::Duration kMemberLook = std::chrono::seconds(1);

class LegacyEtcdHandler final : public RendezvousHandler {
 public:
  LegacyEtcdHandler(sim::Ports& ports, const RendezvousParameters& parameters,
                    std::shared_ptr<EtcdV2Client> client, LegacyEtcdSettings settings)
      : ports_(ports),
        local_addr_(parameters.local_addr),
        variant_(parameters.variant),
        run_id_(settings.run_id),
        descriptor_((local_addr_.empty() ? ports.network.fully_qualified_name() : local_addr_) +
                    "_" + std::to_string(ports.processes.self().value) + "_0"),
        client_(client),
        job_store_(make_hardened_etcd_v2_store(ports, client, etcd_v2_store_prefix())),
        rendezvous_(ports, std::move(client), std::move(settings)) {}

  [[nodiscard]] std::string get_backend() const override { return "etcd"; }
  [[nodiscard]] std::string get_run_id() const override { return run_id_; }
  [[nodiscard]] bool use_agent_store() const override { return false; }
  RendezvousInfo next_rendezvous() override;
  bool is_closed() override {
    return raised([&] { return rendezvous_.is_closed(); });
  }
  void set_closed() override {
    raised([&] { rendezvous_.set_closed(); });
  }
  std::int64_t num_nodes_waiting() override;
  std::int64_t others_at_work() override {
    return raised([&] { return rendezvous_.others_alive(); });
  }
  GroupState group_state() override;
  void when_waiting(std::function<void()> call) override {
    rendezvous_.when_waiting(std::move(call));
  }
  void when_abandoned(std::function<bool(std::int64_t, Store&)> was_the_end) override {
    rendezvous_.when_abandoned([this, was_the_end = std::move(was_the_end)](std::int64_t version) {
      const auto store =
          make_hardened_etcd_v2_store(ports_, client_, rendezvous_.store_path(version));
      return was_the_end(version, *store);
    });
  }
  Successor successor() override;
  std::vector<std::int64_t> missing_ranks() override { return rendezvous_.missing_ranks(); }
  void group_formed() override { forming_ = false; }
  std::shared_ptr<Store> job_store() override {
    return make_prefix_store(job_prefix(run_id_), job_store_);
  }
  [[nodiscard]] std::optional<sim::Duration> outage_limit() const override {
    return hardened() ? std::optional(kOutageLimit) : std::nullopt;
  }
  bool leave() override;
  bool shutdown() override;

 private:
  std::shared_ptr<Store> round_store(std::int64_t round);
  void while_waiting();
  void close_persistently();
  [[nodiscard]] bool hardened() const { return variant_ == Variant::hardened; }
  /// Nothing of etcd is made a rendezvous error here, but for the
  /// hardened agent, which outlasts an etcd that cannot be reached for a moment.
  template <class Call>
  auto raised(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const EtcdError& error) {
      throw EscapedPythonError(
          error.code() == EtcdV2Client::kKeyNotFound ? "EtcdKeyNotFound" : "EtcdException",
          error.what());
    } catch (const EtcdConnectionError& error) {
      if (hardened()) throw RendezvousConnectionError(error.what());
      throw EscapedPythonError("EtcdConnectionFailed", error.what());
    }
  }

  sim::Ports& ports_;
  std::string local_addr_;
  Variant variant_;
  std::string run_id_;
  std::string descriptor_;
  std::shared_ptr<EtcdV2Client> client_;
  std::shared_ptr<Store> job_store_;
  LegacyEtcdRendezvous rendezvous_;
  std::int64_t held_round_ = 0;
  sim::MonotonicTime next_look_{};  ///< for members that are gone
  std::int64_t waiting_seen_ = 0;
  bool forming_ = false;        ///< a round has been joined, and its ranks are not yet known
  sim::MonotonicTime heard_{};  ///< while it is forming: when the rendezvous last answered
};

RendezvousInfo LegacyEtcdHandler::next_rendezvous() {
  ports_.trace.emit(events::rendezvous_joining, {run_id_, descriptor_, held_round_});
  RendezvousInfo info;
  try {
    const auto place = rendezvous_.barrier();
    info.round = held_round_ = place.version;
    info.rank = place.rank;
    info.world_size = place.world_size;
  } catch (const RendezvousError& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, error.class_name(), error.what()});
    throw;
  } catch (const SignalException& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "SignalException", error.what()});
    throw;
  }
  forming_ = hardened();
  heard_ = ports_.clock.monotonic_now();
  info.store = round_store(info.round);
  if (variant_ != Variant::torch_1_13) {
    info.bootstrap = build_store_info(ports_, info.rank, *info.store, local_addr_, 0);
  }
  ports_.trace.emit(
      events::rendezvous_joined,
      {run_id_, descriptor_, info.round, info.rank, info.world_size,
       info.bootstrap ? info.bootstrap->master_addr : std::string(),
       std::uint32_t{info.bootstrap ? info.bootstrap->master_port : std::uint16_t{0}}});
  waiting_seen_ = 0;
  return info;
}

/// Hardened, no agent that waits there is deaf, or meets a LookupError (S-L16).
std::shared_ptr<Store> LegacyEtcdHandler::round_store(std::int64_t round) {
  const std::string path = rendezvous_.store_path(round);
  if (!hardened()) return make_etcd_v2_store(ports_, client_, path);
  return make_retrying_store(ports_, make_hardened_etcd_v2_store(ports_, client_, path),
                             kStoreOutage, [this] { while_waiting(); });
}

/// As under the dynamic rendezvous, a member that dies before the group is formed leaves the others
/// waiting for what it would have written: they meet again instead.
void LegacyEtcdHandler::while_waiting() {
  check_signals(ports_);
  if (!forming_) return;
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  try {
    const GroupState state = group_state();
    // Members that had formed may have given the job up for the same loss, and closed it.
    const bool closed_for_a_loss = state == GroupState::closed && !missing_ranks().empty();
    if (state == GroupState::broken || state == GroupState::over || closed_for_a_loss) {
      throw RendezvousGroupLostError("the group lost a member while it was forming");
    }
    heard_ = now;
  } catch (const RendezvousConnectionError&) {
    if (now - heard_ >= kOutageLimit) {
      throw RendezvousGroupLostError("etcd fell silent while the group was forming");
    }
  }
}

std::int64_t LegacyEtcdHandler::num_nodes_waiting() {
  const std::int64_t waiting = raised([&] { return rendezvous_.num_workers_waiting(); });
  if (std::exchange(waiting_seen_, waiting) != waiting && waiting > 0) {
    ports_.trace.emit(events::rendezvous_waiting_seen, {run_id_, held_round_, waiting});
  }
  return waiting;
}

/// A final version has no time to live: unless somebody waits, no agent looks whether its members
/// are there (S-L8). An agent that misses one only has to ask for the next version, as every
/// newcomer does.
GroupState LegacyEtcdHandler::group_state() {
  if (!hardened() || ports_.clock.monotonic_now() < next_look_) return GroupState::whole;
  next_look_ = ports_.clock.monotonic_now() + kMemberLook;
  return raised([&] { return rendezvous_.group_state(); });
}

Successor LegacyEtcdHandler::successor() {
  if (!hardened()) return Successor::none;
  try {
    return rendezvous_.successor();
  } catch (const EtcdError&) {
  } catch (const EtcdConnectionError&) {
  }
  return Successor::none;
}

/// An agent that does not close leaves newcomers waiting for agents that have gone: a hardened
/// agent tries again when the answer is lost.
void LegacyEtcdHandler::close_persistently() {
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + kOutageLimit;
  for (;;) {
    try {
      return rendezvous_.set_closed();
    } catch (const EtcdConnectionError&) {
      if (!hardened() || ports_.clock.monotonic_now() >= give_up) throw;
    }
    interruptible_sleep(ports_, kCloseAgain);
  }
}

bool LegacyEtcdHandler::leave() {
  if (!hardened()) return false;
  try {
    rendezvous_.leave();
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;  // else there is nothing to leave
  }
  return true;
}

bool LegacyEtcdHandler::shutdown() {
  ports_.fault_point.reach("rendezvous.closing");
  try {
    close_persistently();
    return true;
  } catch (const SignalException& error) {
    if (hardened()) throw;
    // PyTorch's shutdown catches every exception there is (S-L19).
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "SignalException", error.what()});
    return false;
  } catch (const std::exception& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "EtcdException", error.what()});
    const auto* const refused = dynamic_cast<const EtcdError*>(&error);
    const bool not_begun = refused != nullptr && refused->code() == EtcdV2Client::kKeyNotFound;
    return hardened() && not_begun;  // there is nothing to close (S-L11)
  }
}

}  // namespace

std::unique_ptr<RendezvousHandler> make_legacy_etcd_handler(sim::Ports& ports,
                                                            const RendezvousParameters& parameters,
                                                            EtcdV2MembersMaker members) {
  EtcdOptions options;
  options.v2_members = members;
  options.server = etcd_server(parameters, parameters.get("protocol").value_or("http"),
                               {"cacert", "cert", "key"});
  LegacyEtcdSettings settings;
  settings.run_id = parameters.run_id;
  settings.min_nodes = parameters.min_nodes;
  settings.max_nodes = parameters.max_nodes;
  settings.variant = parameters.variant;
  settings.planted = parameters.planted;
  options.by_quorum = settings.variant == Variant::hardened;
  options.server.interruptible = settings.variant == Variant::hardened;
  if (settings.variant == Variant::hardened) options.read_timeout = kOutageLimit;
  settings.timeout = parameters.get_as_seconds("timeout").value_or(settings.timeout);
  settings.last_call = parameters.get_as_seconds("last_call_timeout").value_or(settings.last_call);
  settings.prefix = parameters.get("etcd_prefix").value_or(settings.prefix);
  // Without it every newcomer takes the living for dead (S-L14).
  if (settings.variant == Variant::hardened && !settings.prefix.starts_with('/')) {
    settings.prefix.insert(settings.prefix.begin(), '/');
  }
  try {
    auto client = std::make_shared<EtcdV2Client>(ports, options);
    return std::make_unique<LegacyEtcdHandler>(ports, parameters, std::move(client),
                                               std::move(settings));
  } catch (const EtcdError& error) {
    throw EscapedPythonError("EtcdException", error.what());
  } catch (const EtcdConnectionError& error) {
    throw EscapedPythonError("EtcdConnectionFailed", error.what());
  }
}

}  // namespace hooke::model
