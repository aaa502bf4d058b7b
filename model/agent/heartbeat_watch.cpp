// Names of workers are drawn for each incarnation, so that what an orphan of an earlier one sends
// to a port that has found a new owner counts for no agent.
#include "model/agent/heartbeat_watch.h"

#include <stdexcept>

#include "model/heartbeat/heartbeat_client.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

std::string name_of(std::int64_t rank, const std::string& incarnation) {
  return std::to_string(rank) + "-" + incarnation;
}

std::string milliseconds_text(sim::Duration span) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(span).count());
}

}  // namespace

HeartbeatWatch::HeartbeatWatch(sim::Ports& ports, std::optional<HeartbeatPlan> plan,
                               sim::Duration looks)
    : ports_(ports), plan_(std::move(plan)), looks_(looks) {
  if (!plan_) return;
  if (plan_->interval < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("the interval of heartbeats must be at least 1 ms");
  }
  if (plan_->deadline <= plan_->interval) {
    throw std::invalid_argument("the deadline of heartbeats must be longer than their interval");
  }
}

std::string HeartbeatWatch::new_incarnation() const {
  constexpr std::uint64_t kNames = 1'000'000'000'000;
  return std::to_string(ports_.random.below("agent.heartbeats", kNames));
}

void HeartbeatWatch::start(const std::vector<std::int64_t>& ranks) {
  if (!plan_) return;
  const std::string incarnation = new_incarnation();
  HOOKE_CHECK(!ranks.empty(), "heartbeats are watched for at least one worker");
  ranks_ = ranks;
  names_.clear();
  for (const std::int64_t rank : ranks) names_.push_back(name_of(rank, incarnation));
  HOOKE_CHECK(names_.size() == ranks_.size(), "each worker has a name");
  stop();  // gives the port back first
  server_ = std::make_unique<HeartbeatServer>(
      ports_, plan_->port, make_table({plan_->deadline, plan_->first_beat, looks_}));
  HOOKE_CHECK(server_->port().value != 0, "the port of the heartbeat server is not 0");
  HOOKE_CHECK(exchange_ == nullptr, "the peer exchange of the former start has ended");
  for (const std::string& name : names_) server_->expect(name);
}

void HeartbeatWatch::share(const WorkerGroup& group) {
  if (server_ == nullptr || !plan_->peers) return;
  HOOKE_CHECK(group.store != nullptr, "the group has a store when peers exchange");
  HOOKE_CHECK(exchange_ == nullptr, "a start of workers makes one peer exchange");
  exchange_ = std::make_unique<PeerExchange>(ports_, group, plan_->interval, plan_->deadline);
  server_->answer_with([this] { return encode_peers(exchange_->lives()); });
}

WorkerLives HeartbeatWatch::own_lives(const ProcessContext& workers) const {
  HOOKE_CHECK(server_ != nullptr,
              "the heartbeat server exists when it is asked for lives of workers");
  WorkerLives out;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out.push_back(workers.status(i) ? WorkerLife::ended : server_->life(names_[i]));
  }
  return out;
}

void HeartbeatWatch::start_again(std::int64_t local_rank) {
  if (server_ == nullptr) return;
  const auto index = static_cast<std::size_t>(local_rank);
  HOOKE_CHECK(index < names_.size(), "the index of a worker that is started again has a name");
  HOOKE_CHECK(local_rank >= 0 && ranks_.size() == names_.size(),
              "there are as many names of workers as ranks");
  server_->forget(names_.at(index));
  names_[index] = name_of(ranks_[index], new_incarnation());
  server_->expect(names_[index]);
}

std::unique_ptr<HeartbeatTable> HeartbeatWatch::make_table(HeartbeatTerms terms) const {
  return std::make_unique<HeartbeatTable>(terms);
}

void HeartbeatWatch::tell(std::map<std::string, std::string>& environment,
                          std::int64_t local_rank) const {
  for (const char* name : {kHeartbeatAddress, kHeartbeatWorker, kHeartbeatInterval,
                           kHeartbeatDeadline, kHeartbeatPeers}) {
    environment.erase(name);
  }
  if (server_ == nullptr) return;
  environment[kHeartbeatAddress] = plan_->address.empty()
                                       ? "localhost:" + std::to_string(server_->port().value)
                                       : plan_->address;
  HOOKE_CHECK(0 <= local_rank && local_rank < std::ssize(names_),
              "the local rank of a worker has a name");
  HOOKE_CHECK(server_->port().value != 0, "the port of the heartbeat server is not 0");
  environment[kHeartbeatWorker] = names_.at(static_cast<std::size_t>(local_rank));
  environment[kHeartbeatInterval] = milliseconds_text(interval(*plan_));
  environment[kHeartbeatDeadline] = milliseconds_text(plan_->deadline);
  if (plan_->peers) environment[kHeartbeatPeers] = "1";
}

void HeartbeatWatch::announce(const ProcessContext& workers) const {
  if (server_ == nullptr) return;
  for (std::size_t i = 0; i < names_.size(); ++i) announce(workers, static_cast<std::int64_t>(i));
}

void HeartbeatWatch::announce(const ProcessContext& workers, std::int64_t local_rank) const {
  if (server_ == nullptr) return;
  const auto i = static_cast<std::size_t>(local_rank);
  HOOKE_CHECK(i < names_.size(), "the index of a worker that is announced has a name");
  HOOKE_CHECK(names_.size() == ranks_.size(), "there are as many names of workers as ranks");
  ports_.trace.emit(events::heartbeat_expected,
                    {names_[i], workers.pid(i).value, ranks_[i], plan_->deadline,
                     plan_->first_beat.value_or(sim::Duration(-1)), to_string(plan_->policy)});
}

HeartbeatPolicy HeartbeatWatch::policy() const {
  return plan_ ? plan_->policy : HeartbeatPolicy::mark;
}

void HeartbeatWatch::forget_ended(const ProcessContext& workers) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (workers.status(i)) server_->forget(names_[i]);
  }
}

std::vector<std::pair<std::int64_t, sim::Duration>> HeartbeatWatch::look(
    const ProcessContext& workers) {
  std::vector<std::pair<std::int64_t, sim::Duration>> out;
  if (server_ == nullptr) return out;
  HOOKE_CHECK(plan_.has_value(), "the settings of heartbeats are there when heartbeats are served");
  forget_ended(workers);
  const std::vector<SilentWorker> silent = server_->look();
  if (exchange_ != nullptr) exchange_->exchange(own_lives(workers));
  for (std::size_t i = 0; i < names_.size(); ++i) {
    for (const SilentWorker& each : silent) {
      if (each.worker == names_[i]) out.emplace_back(static_cast<std::int64_t>(i), each.silent);
    }
  }
  HOOKE_CHECK(out.size() == silent.size(), "each silent worker is one of this start");
  return out;
}

}  // namespace hooke::model
