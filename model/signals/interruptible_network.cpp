// Everything is passed on; a read is passed on in slices.
#include "model/signals/interruptible_network.h"

#include <algorithm>
#include <utility>

namespace hooke::model {
namespace {

using sim::MonotonicTime;
using sim::Outcome;

/// How long a caught signal may go unheard.
constexpr sim::Duration kSlice = std::chrono::seconds(1);

class InterruptibleStream final : public sim::Stream {
 public:
  InterruptibleStream(sim::Ports& ports, std::unique_ptr<sim::Stream> stream)
      : ports_(ports), stream_(std::move(stream)) {}

  Outcome<sim::Done> write(sim::Buffer bytes) override { return stream_->write(std::move(bytes)); }
  [[nodiscard]] bool backed_up() const override { return stream_->backed_up(); }
  Outcome<sim::Buffer> read(std::optional<MonotonicTime> deadline) override;
  void set_handler(sim::StreamHandler& handler) override { stream_->set_handler(handler); }
  void finish_writing() override { stream_->finish_writing(); }
  void reset() override { stream_->reset(); }
  [[nodiscard]] sim::Endpoint local() const override { return stream_->local(); }
  [[nodiscard]] sim::Endpoint peer() const override { return stream_->peer(); }

 private:
  sim::Ports& ports_;
  std::unique_ptr<sim::Stream> stream_;
};

Outcome<sim::Buffer> InterruptibleStream::read(std::optional<MonotonicTime> deadline) {
  if (!deadline) return stream_->read(deadline);
  for (;;) {
    const MonotonicTime slice = ports_.clock.monotonic_now() + kSlice;
    auto more = stream_->read(std::min(slice, *deadline));
    if (more || more.failure().fault != sim::Fault::timed_out) return more;
    if (slice >= *deadline || ports_.processes.signal_pending()) return more;
  }
}

}  // namespace

Outcome<std::unique_ptr<sim::Stream>> InterruptibleNetwork::interruptible(
    Outcome<std::unique_ptr<sim::Stream>> stream) {
  if (!stream) return stream;
  std::unique_ptr<sim::Stream> wrapped =
      std::make_unique<InterruptibleStream>(ports_, std::move(stream).value());
  return wrapped;
}

Outcome<std::unique_ptr<sim::Listener>> InterruptibleNetwork::listen(sim::PortNumber port,
                                                                     sim::AcceptHandler& handler) {
  return ports_.network.listen(port, handler);
}

Outcome<std::unique_ptr<sim::Listener>> InterruptibleNetwork::listen_local(
    const std::string& path, sim::AcceptHandler& handler) {
  return ports_.network.listen_local(path, handler);
}

Outcome<std::unique_ptr<sim::Stream>> InterruptibleNetwork::connect_local(
    const std::string& path, std::optional<MonotonicTime> deadline) {
  return interruptible(ports_.network.connect_local(path, deadline));
}

Outcome<std::unique_ptr<sim::Stream>> InterruptibleNetwork::connect(
    const sim::Endpoint& to, std::optional<MonotonicTime> deadline) {
  return interruptible(ports_.network.connect(to, deadline));
}

Outcome<std::unique_ptr<sim::Stream>> InterruptibleNetwork::connect_secure(
    const sim::Endpoint& to, const sim::TlsOptions& tls, std::optional<MonotonicTime> deadline) {
  return interruptible(ports_.network.connect_secure(to, tls, deadline));
}

Outcome<std::vector<std::string>> InterruptibleNetwork::resolve(const std::string& host) {
  return ports_.network.resolve(host);
}

Outcome<std::string> InterruptibleNetwork::canonical_name(const std::string& host) {
  return ports_.network.canonical_name(host);
}

std::string InterruptibleNetwork::host_name() const {
  return ports_.network.host_name();
}

std::string InterruptibleNetwork::fully_qualified_name() const {
  return ports_.network.fully_qualified_name();
}

}  // namespace hooke::model
