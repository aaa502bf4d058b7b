// The gateway's paths, and the fiber that ends leases.
#include "model/etcd/v3_server.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "model/etcd/json_text.h"
#include "model/etcd/v3_operations.h"
#include "model/etcd/v3_told_answers.h"
#include "model/etcd/v3_transaction.h"
#include "model/etcd/v3_watches.h"
#include "model/observe/trace_events.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {

using Json = EtcdV3Json;

namespace {

using namespace std::chrono_literals;
using Refusal = EtcdV3Refusal;
using Exchange = std::shared_ptr<HttpExchange>;
using Mode = EtcdMisbehaviour::Mode;

/// etcd looks for leases that are over twice a second.
constexpr sim::Duration kExpiryTick = 500ms;

Json with_header(std::int64_t revision) {
  return {{"header", etcd_header(revision)}};
}

}  // namespace

class EtcdV3Server::Service : public std::enable_shared_from_this<Service> {
 public:
  Service(sim::Ports& ports, std::shared_ptr<EtcdMisbehaviour> misbehaviour)
      : ports_(ports),
        misbehaviour_(std::move(misbehaviour)),
        operations_(keys_, leases_),
        watches_(keys_, *misbehaviour_),
        sooner_(ports.executor) {
    misbehaviour_->observe([this] { look_at_modes(); });
    look_at_modes();
  }

  void handle(const Exchange& exchange);
  /// Ends leases that are over, until closed.
  void expire_for_ever();
  void close() {
    misbehaviour_->observe(nullptr);
    HOOKE_CHECK(!closed_, "a service is closed once");
    closed_ = true;
    sooner_.wake_all();
  }
  /// The URL that the member list names.
  std::string url;

 private:
  using Answers = Json (Service::*)(const std::string& body);
  using Converses = void (Service::*)(const Exchange& exchange);
  struct Call {
    std::variant<Answers, Converses> how;
    bool needs_leader = true;  ///< it is agreed upon by the members
  };
  static const Call* call_of(const std::string& path);

  Json put(const std::string& body) { return committed(operations_.put(read_etcd_put(body))); }
  Json remove(const std::string& body);
  Json compact(const std::string& body);
  Json grant(const std::string& body);
  Json revoke(const std::string& body);
  Json time_to_live(const std::string& body);
  Json leases(const std::string& body);
  Json members(const std::string& body);
  Json status(const std::string& body);
  Json authenticate(const std::string&) {
    throw Refusal{Refusal::kFailedPrecondition, "etcdserver: authentication is not enabled"};
  }
  void watch(const Exchange& exchange) { watches_.open(exchange); }
  void range(const Exchange& exchange);
  void transact(const Exchange& exchange);
  Json found(EtcdV3RangeRequest request);
  void keep_alive(const Exchange& exchange);

  /// An answer of EtcdV3Operations as a client gets it; what has changed is committed and told.
  Json committed(Json answer);
  void commit();
  void require_leader();
  /// What has changed the revision `before` may be told to be of unknown outcome.
  void may_time_out(std::int64_t before);
  void expire();
  /// The modes may have changed.
  void look_at_modes();

  sim::Ports& ports_;
  std::shared_ptr<EtcdMisbehaviour> misbehaviour_;
  EtcdV3Keys keys_;
  EtcdV3Leases leases_;
  EtcdV3Operations operations_;
  EtcdV3Watches watches_;
  bool without_leader_ = false;
  std::optional<std::int64_t> stale_;  ///< the revision that reads see, when it is an old one
  bool told_stale_ = false;            ///< the trace knows that a client has seen it
  EtcdV3ToldAnswers told_ranges_{keys_}, told_transactions_{keys_};
  sim::WaitQueue sooner_;  ///< the expiry fiber, when there may be something to do
  bool closed_ = false;
};

// ---- requests -----------------------------------------------------------------------------------

const EtcdV3Server::Service::Call* EtcdV3Server::Service::call_of(const std::string& path) {
  using S = Service;
  static const std::map<std::string, Call> kCalls{
      {"/v3/kv/put", {&S::put}},
      {"/v3/kv/deleterange", {&S::remove}},
      {"/v3/kv/compaction", {&S::compact}},
      {"/v3/lease/grant", {&S::grant}},
      {"/v3/lease/revoke", {&S::revoke}},
      {"/v3/kv/lease/revoke", {&S::revoke}},
      {"/v3/lease/timetolive", {&S::time_to_live}},
      {"/v3/kv/lease/timetolive", {&S::time_to_live}},
      {"/v3/lease/leases", {&S::leases, false}},
      {"/v3/kv/lease/leases", {&S::leases, false}},
      {"/v3/cluster/member/list", {&S::members, false}},
      {"/v3/maintenance/status", {&S::status, false}},
      {"/v3/lease/keepalive", {&S::keep_alive}},
      {"/v3/kv/txn", {&S::transact}},
      {"/v3/kv/range", {&S::range, false}},
      {"/v3/watch", {&S::watch, false}},
      {"/v3/auth/authenticate", {&S::authenticate, false}},
  };
  const auto found = kCalls.find(path);
  return found == kCalls.end() ? nullptr : &found->second;
}

void EtcdV3Server::Service::handle(const Exchange& exchange) {
  const HttpQuery& query = exchange->query();
  const HttpHeaders text{{"Content-Type", "text/plain; charset=utf-8"}};
  if (query.path == "/version") {
    return exchange->answer(200, R"({"etcdserver":"3.4.23","etcdcluster":"3.4.0"})");
  }
  if (query.path == "/health") return exchange->answer(200, R"({"health":"true"})", text);
  const Call* const call = call_of(query.path);
  if (call == nullptr) return exchange->answer(404, "Not Found\n", text);
  if (query.method != "POST") return exchange->answer(405, "Method Not Allowed\n", text);
  try {
    if (call->needs_leader) require_leader();
    if (const auto* const converse = std::get_if<Converses>(&call->how))
      return (this->**converse)(exchange);
    const std::int64_t before = keys_.revision();
    const std::string answer = json_text((this->*std::get<Answers>(call->how))(query.text()));
    may_time_out(before);
    exchange->answer(200, answer);
  } catch (const Refusal& refusal) {
    exchange->answer(refusal.http_status(), refusal.body());
  }
}

void EtcdV3Server::Service::may_time_out(std::int64_t before) {
  if (keys_.revision() == before || !misbehaviour_->strikes(Mode::unknown_outcome)) return;
  throw Refusal{Refusal::kUnavailable, "etcdserver: request timed out"};
}

void EtcdV3Server::Service::require_leader() {
  if (!misbehaviour_->strikes(Mode::leader_loss)) return;
  throw Refusal{Refusal::kUnavailable, "etcdserver: leader changed"};
}

Json EtcdV3Server::Service::committed(Json answer) {
  commit();
  const std::int64_t revision = std::stoll(answer["header"]["revision"].get<std::string>());
  answer["header"] = etcd_header(revision);
  return answer;
}

void EtcdV3Server::Service::commit() {
  if (!keys_.commit()) return;
  if (misbehaviour_->strikes(Mode::compaction)) keys_.compact(keys_.revision());
  if (!stale_) watches_.tell();
}

void EtcdV3Server::Service::range(const Exchange& exchange) {
  const std::string& body = exchange->query().text();
  if (const auto* const told = stale_ ? nullptr : told_ranges_.find(body)) {
    if (told->needs_leader) require_leader();
    return exchange->answer(200, told->text, {});
  }
  const EtcdV3RangeRequest request = read_etcd_range(body);
  if (!request.serializable) require_leader();
  const sim::Value text(std::make_shared<StoredText>(json_text(found(request))));
  if (!stale_) told_ranges_.keep(body, {text, !request.serializable});
  exchange->answer(200, text, {});
}

void EtcdV3Server::Service::transact(const Exchange& exchange) {
  const HttpQuery& query = exchange->query();
  const auto* const known = dynamic_cast<const EtcdV3Transaction*>(query.whole.payload().get());
  const bool may_repeat = known == nullptr || known->only_reads();
  if (const auto* const told = may_repeat ? told_transactions_.find(query.text()) : nullptr)
    return exchange->answer(200, told->text, {});
  const std::int64_t before = keys_.revision();
  const Json answer = committed(
      operations_.transact(known == nullptr ? read_etcd_txn(query.text()) : known->request()));
  const sim::Value text = known == nullptr
                              ? sim::Value(std::make_shared<StoredText>(json_text(answer)))
                              : told_with(answer, *known, keys_);
  if (may_repeat && keys_.revision() == before) told_transactions_.keep(query.text(), {text});
  may_time_out(before);
  exchange->answer(200, text, {});
}

Json EtcdV3Server::Service::found(EtcdV3RangeRequest request) {
  if (!stale_ || request.revision > 0 || *stale_ == keys_.revision()) {
    return committed(operations_.range(request));
  }
  misbehaviour_->strikes(Mode::stale_read);
  if (!std::exchange(told_stale_, true)) ports_.trace.emit(events::etcd_misbehaved, {"stale_read"});
  HOOKE_CHECK(*stale_ <= keys_.revision(), "a stale read sees the past");
  request.revision = std::max(*stale_, keys_.compacted());
  Json answer = operations_.range(request);
  answer["header"] = etcd_header(request.revision);
  return answer;
}

Json EtcdV3Server::Service::remove(const std::string& body) {
  return committed(operations_.remove(read_etcd_delete(body)));
}

Json EtcdV3Server::Service::compact(const std::string& body) {
  const std::int64_t revision = read_etcd_compaction(body);
  if (revision <= keys_.compacted()) {
    throw Refusal{Refusal::kOutOfRange, "etcdserver: mvcc: required revision has been compacted"};
  }
  if (revision > keys_.revision()) {
    throw Refusal{Refusal::kOutOfRange, "etcdserver: mvcc: required revision is a future revision"};
  }
  keys_.compact(revision);
  return with_header(keys_.revision());
}

Json EtcdV3Server::Service::members(const std::string&) {
  const Json header = etcd_header(0);
  Json out{{"header", header}};
  out["members"] = {
      {{"ID", header["member_id"]}, {"name", "default"}, {"clientURLs", Json::array({url})}}};
  return out;
}

Json EtcdV3Server::Service::status(const std::string&) {
  Json out = with_header(keys_.revision());
  out["version"] = "3.4.23";
  out["leader"] = out["header"]["member_id"];
  out["raftTerm"] = out["header"]["raft_term"];
  return out;
}

// ---- leases -------------------------------------------------------------------------------------

Json EtcdV3Server::Service::grant(const std::string& body) {
  EtcdV3LeaseRequest request = read_etcd_lease(body);
  if (request.ttl > EtcdV3Leases::kTtlMax) {
    throw Refusal{Refusal::kOutOfRange, "etcdserver: too large lease TTL"};
  }
  if (request.id == 0) {
    // Drawn, not counted: after a restart with nothing kept no old number may mean a new lease.
    const std::uint64_t drawn = ports_.random.below("etcd.lease_id", std::uint64_t{1} << 62U);
    request.id = static_cast<std::int64_t>(drawn) + 1;
    while (leases_.contains(request.id)) ++request.id;
  } else if (leases_.contains(request.id)) {
    throw Refusal{Refusal::kFailedPrecondition, "etcdserver: lease already exists"};
  }
  const EtcdV3Lease& lease = leases_.grant(request.id, request.ttl, ports_.clock.monotonic_now());
  HOOKE_CHECK(lease.ttl >= request.ttl, "a lease lasts as long as was asked for, or longer");
  sooner_.wake_all();
  Json out = with_header(keys_.revision());
  put_number(out, "ID", request.id);
  put_number(out, "TTL", lease.ttl);
  return out;
}

Json EtcdV3Server::Service::revoke(const std::string& body) {
  const std::int64_t id = read_etcd_lease(body).id;
  if (!leases_.contains(id)) {
    throw Refusal{Refusal::kNotFound, "etcdserver: requested lease not found"};
  }
  operations_.revoke(id);
  commit();
  return with_header(keys_.revision());
}

Json EtcdV3Server::Service::time_to_live(const std::string& body) {
  const EtcdV3LeaseRequest request = read_etcd_lease(body);
  Json out = with_header(keys_.revision());
  put_number(out, "ID", request.id);
  const EtcdV3Lease* const lease = leases_.find(request.id);
  if (lease == nullptr) {
    put_number(out, "TTL", -1);
    return out;
  }
  const sim::Duration left = lease->expires - ports_.clock.monotonic_now();
  put_number(out, "TTL", left / 1s);
  put_number(out, "grantedTTL", lease->ttl);
  if (!request.keys) return out;
  for (const std::string& key : lease->keys) out["keys"].push_back(etcd_base64(key));
  return out;
}

Json EtcdV3Server::Service::leases(const std::string&) {
  Json out = with_header(keys_.revision());
  for (const auto& [id, lease] : leases_.all())
    out["leases"].push_back({{"ID", std::to_string(id)}});
  return out;
}

void EtcdV3Server::Service::keep_alive(const Exchange& exchange) {
  const auto requests = read_etcd_leases(exchange->query().text());
  exchange->begin(200);
  std::string results;
  for (const EtcdV3LeaseRequest& request : requests) {
    Json result = with_header(keys_.revision());
    put_number(result, "ID", request.id);
    if (leases_.renew(request.id, ports_.clock.monotonic_now()))
      put_number(result, "TTL", leases_.find(request.id)->ttl);
    results += json_text(Json{{"result", std::move(result)}}) + "\n";
  }
  exchange->finish(results);
}

void EtcdV3Server::Service::expire() {
  const bool all = misbehaviour_->take_expiry(leases_.all().size());
  const auto over = leases_.expired(all ? sim::MonotonicTime::max() : ports_.clock.monotonic_now());
  if (over.empty() || (!all && misbehaviour_->strikes(Mode::late_expiry))) return;
  if (misbehaviour_->on(Mode::leader_loss)) return;
  if (all) ports_.trace.emit(events::etcd_misbehaved, {"expiry"});
  for (const std::int64_t lease : over) {
    operations_.revoke(lease);
    commit();
  }
}

void EtcdV3Server::Service::expire_for_ever() {
  while (!closed_) {
    if (!stale_) watches_.tell();
    expire();
    const auto next = leases_.next_expiry();
    if (!next) {
      static_cast<void>(sooner_.wait());
      continue;
    }
    // What is over may have to wait: one tick at least.
    const sim::Duration span =
        std::max(*next, ports_.clock.monotonic_now() + 1ns).time_since_epoch();
    HOOKE_CHECK(span > sim::Duration::zero(), "what expires lies ahead");
    const sim::Duration ticks = (span + kExpiryTick - 1ns) / kExpiryTick * kExpiryTick;
    static_cast<void>(sooner_.wait(sim::MonotonicTime(ticks)));
  }
}

void EtcdV3Server::Service::look_at_modes() {
  const bool without_leader = misbehaviour_->on(Mode::leader_loss);
  if (without_leader_ && !without_leader) {
    for (const auto& [id, lease] : leases_.all()) leases_.renew(id, ports_.clock.monotonic_now());
  }
  without_leader_ = without_leader;
  if (!misbehaviour_->on(Mode::stale_read)) {
    stale_.reset();
  } else if (!stale_) {
    stale_ = keys_.revision();
    told_stale_ = false;
  }
  sooner_.wake_all();
}

// ---- its life -----------------------------------------------------------------------------------

EtcdV3Server::EtcdV3Server(sim::Ports& ports, sim::PortNumber port,
                           std::shared_ptr<EtcdMisbehaviour> misbehaviour)
    : service_(std::make_shared<Service>(ports, std::move(misbehaviour))) {
  http_ = std::make_unique<HttpService>(
      ports, port, [service = service_](const Exchange& exchange) { service->handle(exchange); });
  service_->url = "http://" + ports.network.host_name() + ":" + std::to_string(http_->port().value);
  ports.executor.spawn("etcd expiry", [service = service_] { service->expire_for_ever(); });
}

EtcdV3Server::~EtcdV3Server() {
  service_->close();
}

sim::PortNumber EtcdV3Server::port() const {
  return http_->port();
}

}  // namespace hooke::model
