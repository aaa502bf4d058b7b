// A connection is two streams and two pumps, one for each way: a fiber that reads, holds and
// writes.
#include "sim/real/link_proxy.h"

#include <array>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>

#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::real {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kConnectTimeout = 30s;

}  // namespace

class LinkProxy::Impl final : public sim::AcceptHandler,
                              public std::enable_shared_from_this<LinkProxy::Impl> {
 public:
  Impl(sim::Ports& ports, sim::Endpoint target)
      : ports_(ports), target_(std::move(target)), changed_(ports.executor) {}

  void listen() {
    auto listener = ports_.network.listen(sim::PortNumber{0}, *this);
    if (!listener) throw std::runtime_error("link: " + listener.failure().detail);
    listener_ = std::move(listener).value();
    HOOKE_CHECK(listener_->local().port.value != 0, "a link has a port that can be reached");
  }
  [[nodiscard]] sim::PortNumber port() const { return listener_->local().port; }

  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    HOOKE_CHECK(stream != nullptr, "a connection that is carried is there");
    // Called outside of fibers: what connects on is one.
    ports_.executor.spawn(
        "link", [self = shared_from_this(),
                 near = std::shared_ptr<sim::Stream>(std::move(stream))] { self->carry(near); });
  }

  enum class Flow : unsigned char { open, held, swallowed };
  void set_flow(Way way, Flow flow) {
    HOOKE_CHECK(!closed_, "a link that is cut or mended is open");
    flows_[index(way)] = flow;
    changed_.wake_all();
  }
  void set_delay(sim::Duration span) {
    HOOKE_CHECK(span >= sim::Duration::zero(), "bytes travel forwards");
    delay_ = span;
  }
  void set_limit(std::int64_t bytes_per_second) {
    HOOKE_CHECK(bytes_per_second >= 0, "a link carries some bytes, or has no limit");
    limit_ = bytes_per_second;
  }
  void reset() {
    if (!streams_.empty()) felt_ = true;
    for (sim::Stream* const stream : streams_) stream->reset();
  }
  void close() {
    HOOKE_CHECK(!closed_, "a link is closed once");
    closed_ = true;
    listener_.reset();
    for (sim::Stream* const stream : streams_) stream->reset();
    changed_.wake_all();
  }
  bool take_felt() { return std::exchange(felt_, false); }

 private:
  static std::size_t index(Way way) { return way == Way::there ? 0 : 1; }

  void carry(const std::shared_ptr<sim::Stream>& near) {
    if (!passes(Way::there)) return;
    auto connected =
        ports_.network.connect(target_, ports_.clock.monotonic_now() + kConnectTimeout);
    if (!connected || closed_) {
      near->reset();  // the nearest that user space comes to a refused connection
      return;
    }
    HOOKE_CHECK(connected.value() != nullptr, "a link that is made has two ends");
    const std::shared_ptr<sim::Stream> far(std::move(connected).value());
    streams_.insert({near.get(), far.get()});
    HOOKE_CHECK(near != far && streams_.size() % 2 == 0, "a link is known with both of its ends");
    const sim::FiberId back = ports_.executor.spawn(
        "link back",
        [self = shared_from_this(), near, far] { self->pump(*far, *near, Way::back); });
    pump(*near, *far, Way::there);
    ports_.executor.join(back);
    HOOKE_CHECK(streams_.contains(near.get()) && streams_.contains(far.get()),
                "both ends of a link are known");
    streams_.erase(near.get());
    streams_.erase(far.get());
  }

  void pump(sim::Stream& from, sim::Stream& to, Way way) {
    for (;;) {
      auto bytes = from.read(std::nullopt);
      if (!bytes || closed_) return to.reset();
      if (bytes->empty()) return to.finish_writing();
      if (!travel(way, bytes->size())) continue;
      if (closed_ || !to.write(std::move(*bytes))) return from.reset();
    }
  }

  /// Takes the time the bytes take; false when they do not arrive.
  bool travel(Way way, std::size_t bytes) {
    HOOKE_CHECK(bytes > 0 && delay_ >= sim::Duration::zero(), "bytes travel forwards");
    sim::Duration span = delay_;
    if (limit_ > 0) span += sim::Duration(1s) * static_cast<std::int64_t>(bytes) / limit_;
    HOOKE_CHECK(span >= delay_, "bytes take no less than the way");
    if (span > sim::Duration::zero()) {
      felt_ = true;
      ports_.executor.sleep_until(ports_.clock.monotonic_now() + span);
    }
    return passes(way);
  }

  /// Waits while the way is cut; false when what goes it is thrown away.
  bool passes(Way way) {
    while (flows_[index(way)] == Flow::held && !closed_) {
      felt_ = true;
      static_cast<void>(changed_.wait());
    }
    if (flows_[index(way)] != Flow::swallowed) return !closed_;
    felt_ = true;
    return false;
  }

  sim::Ports& ports_;
  sim::Endpoint target_;
  sim::WaitQueue changed_;
  std::unique_ptr<sim::Listener> listener_;
  std::set<sim::Stream*> streams_;
  std::array<Flow, 2> flows_{};
  sim::Duration delay_{};
  std::int64_t limit_ = 0;
  bool felt_ = false;
  bool closed_ = false;
};

LinkProxy::LinkProxy(sim::Ports& ports, sim::Endpoint target)
    : impl_(std::make_shared<Impl>(ports, std::move(target))) {
  impl_->listen();
}

LinkProxy::~LinkProxy() {
  impl_->close();
}

sim::PortNumber LinkProxy::port() const {
  return impl_->port();
}
void LinkProxy::cut(Way way) {
  impl_->set_flow(way, Impl::Flow::held);
}
void LinkProxy::mend(Way way) {
  impl_->set_flow(way, Impl::Flow::open);
}
void LinkProxy::swallow(Way way) {
  impl_->set_flow(way, Impl::Flow::swallowed);
}
void LinkProxy::delay(sim::Duration span) {
  impl_->set_delay(span);
}
void LinkProxy::limit(std::int64_t bytes_per_second) {
  impl_->set_limit(bytes_per_second);
}
void LinkProxy::reset() {
  impl_->reset();
}
bool LinkProxy::was_felt() {
  return impl_->take_felt();
}

}  // namespace hooke::real
