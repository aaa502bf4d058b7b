// A stream is one answer that goes on; each of its watches hears of what it asked for.
#include "model/etcd/v3_watches.h"

#include <map>
#include <utility>

#include "model/etcd/json_text.h"
#include "model/etcd/v3_messages.h"
#include "sim/port/check.h"

namespace hooke::model {

using Json = EtcdV3Json;

class EtcdV3Watches::Stream {
 public:
  Stream(EtcdV3Watches& watches, std::shared_ptr<HttpExchange> exchange)
      : all_(watches), keys_(watches.keys_), exchange_(std::move(exchange)) {}

  [[nodiscard]] bool gone() const { return exchange_->gone(); }
  void ask(const EtcdV3WatchRequest& request);
  void tell(const std::vector<EtcdV3KeyValue>& changes) {
    for (const auto& [id, watch] : watches_) tell(id, watch, changes);
  }
  /// What they were to be told next is gone.
  void compacted() {
    for (const auto& [id, watch] : std::exchange(watches_, {})) compacted(id);
  }

 private:
  void create(const EtcdV3WatchRequest& request);
  void cancel(std::int64_t id);
  void compacted(std::int64_t id);
  void tell(std::int64_t id, const EtcdV3WatchRequest& watch,
            const std::vector<EtcdV3KeyValue>& changes);
  [[nodiscard]] Json event_of(const EtcdV3KeyValue& change, bool with_previous) const;
  [[nodiscard]] static Json result_of(std::int64_t revision, std::int64_t id) {
    Json out{{"header", etcd_header(revision)}};
    put_number(out, "watch_id", id);
    return out;
  }
  void send(Json result) {
    if (!begun_) exchange_->begin(200);
    begun_ = true;
    exchange_->send(json_text(Json{{"result", std::move(result)}}) + "\n");
  }

  EtcdV3Watches& all_;
  const EtcdV3Keys& keys_;
  std::shared_ptr<HttpExchange> exchange_;
  bool begun_ = false;
  std::map<std::int64_t, EtcdV3WatchRequest> watches_;
  std::int64_t next_id_ = 0;
};

void EtcdV3Watches::Stream::ask(const EtcdV3WatchRequest& request) {
  switch (request.kind) {
    case EtcdV3WatchRequest::Kind::create: return create(request);
    case EtcdV3WatchRequest::Kind::cancel: return cancel(request.watch_id);
    case EtcdV3WatchRequest::Kind::progress: return send(result_of(all_.told_, -1));
    case EtcdV3WatchRequest::Kind::none: return;
  }
}

void EtcdV3Watches::Stream::create(const EtcdV3WatchRequest& request) {
  EtcdV3WatchRequest watch = request;
  if (watch.key.empty()) watch.key = std::string(1, '\0');
  const auto refuse = [&](const char* why) {
    Json result = result_of(all_.told_, -1);
    result["created"] = true;
    result["canceled"] = true;
    result["cancel_reason"] = why;
    send(std::move(result));
  };
  if (EtcdV3Range::of(watch.key, watch.range_end).empty()) {
    return refuse("mvcc: watcher range is empty");
  }
  if (watch.watch_id != 0) {
    if (watches_.contains(watch.watch_id)) {
      return refuse("mvcc: duplicate watch ID provided on the WatchStream");
    }
  } else {
    while (watches_.contains(next_id_)) ++next_id_;
    watch.watch_id = next_id_++;
  }
  if (watch.start_revision == 0) watch.start_revision = all_.told_ + 1;
  Json created = result_of(all_.told_, watch.watch_id);
  created["created"] = true;
  send(std::move(created));
  if (watch.start_revision < keys_.compacted()) return compacted(watch.watch_id);
  HOOKE_CHECK(!watches_.contains(watch.watch_id), "a watch has a number of its own");
  HOOKE_CHECK(begun_, "a watch that is told of has been said to be there");
  watches_[watch.watch_id] = watch;
  auto past = keys_.since(watch.start_revision);
  std::erase_if(past, [&](const auto& change) { return change.mod_revision > all_.told_; });
  tell(watch.watch_id, watch, past);
}

void EtcdV3Watches::Stream::compacted(std::int64_t id) {
  Json result = result_of(0, id);
  result["canceled"] = true;
  put_number(result, "compact_revision", keys_.compacted());
  send(std::move(result));
}

void EtcdV3Watches::Stream::cancel(std::int64_t id) {
  if (watches_.erase(id) == 0) return;
  Json result = result_of(all_.told_, id);
  result["canceled"] = true;
  send(std::move(result));
}

void EtcdV3Watches::Stream::tell(std::int64_t id, const EtcdV3WatchRequest& watch,
                                 const std::vector<EtcdV3KeyValue>& changes) {
  const EtcdV3Range range = EtcdV3Range::of(watch.key, watch.range_end);
  Json events = Json::array();
  for (const EtcdV3KeyValue& change : changes) {
    const bool removes = change.create_revision == 0;
    HOOKE_CHECK(change.mod_revision <= all_.told_, "no watcher hears of what is to come");
    if (removes ? watch.no_delete : watch.no_put) continue;
    if (change.mod_revision < watch.start_revision || !range.contains(change.key)) continue;
    events.push_back(event_of(change, watch.prev_kv));
  }
  if (events.empty()) return;
  HOOKE_CHECK(!range.empty(), "a watch is for some key");
  Json result = result_of(all_.told_, id);
  result["events"] = std::move(events);
  if (all_.misbehaviour_.strikes(EtcdMisbehaviour::Mode::duplicate_events)) send(result);
  send(std::move(result));
}

Json EtcdV3Watches::Stream::event_of(const EtcdV3KeyValue& change, bool with_previous) const {
  Json out;
  if (change.create_revision == 0) out["type"] = "DELETE";
  out["kv"] = json_of(change);
  const std::int64_t before = change.mod_revision - 1;
  HOOKE_CHECK(before >= 0, "a change comes after the empty store");
  if (with_previous && before >= keys_.compacted()) {
    const auto previous = keys_.range(EtcdV3Range::of(change.key, ""), before);
    if (!previous.empty()) out["prev_kv"] = json_of(previous.front());
  }
  return out;
}

EtcdV3Watches::~EtcdV3Watches() = default;

void EtcdV3Watches::open(const std::shared_ptr<HttpExchange>& exchange) {
  HOOKE_CHECK(exchange != nullptr, "a stream of watches has a client");
  const auto requests = read_etcd_watches(exchange->query().text());
  std::erase_if(streams_, [](const auto& stream) { return stream->gone(); });
  streams_.push_back(std::make_shared<Stream>(*this, exchange));
  const auto stream = streams_.back();
  for (const EtcdV3WatchRequest& request : requests) stream->ask(request);
}

void EtcdV3Watches::tell() {
  if (told_ == keys_.revision()) return;
  HOOKE_CHECK(told_ < keys_.revision(), "no watcher hears of what is to come");
  const std::int64_t next = told_ + 1;
  HOOKE_CHECK(next > keys_.compacted() || keys_.compacted() <= keys_.revision(),
              "no revision to come is compacted");
  told_ = keys_.revision();
  const auto changes = keys_.since(next);
  std::erase_if(streams_, [](const auto& stream) { return stream->gone(); });
  for (const auto& stream : streams_) {
    if (next < keys_.compacted()) {
      stream->compacted();
    } else {
      stream->tell(changes);
    }
  }
}

}  // namespace hooke::model
