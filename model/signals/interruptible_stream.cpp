// Everything is passed on; a read is passed on in slices.
#include "model/signals/interruptible_stream.h"

#include <algorithm>
#include <utility>

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using sim::MonotonicTime;
using sim::Outcome;

/// How long a caught signal may go unheard.
constexpr sim::Duration kSlice = std::chrono::seconds(1);

/// Passes everything on.
class StreamAround : public sim::Stream {
 public:
  StreamAround(sim::Ports& ports, std::unique_ptr<sim::Stream> stream)
      : ports_(ports), stream_(std::move(stream)) {
    HOOKE_CHECK(stream_ != nullptr, "what is passed on is passed on to a stream");
  }

  Outcome<sim::Done> write(sim::Buffer bytes) override { return stream_->write(std::move(bytes)); }
  [[nodiscard]] bool backed_up() const override { return stream_->backed_up(); }
  [[nodiscard]] std::size_t unsent() const override { return stream_->unsent(); }
  [[nodiscard]] bool peer_is_of_this_user() const override {
    return stream_->peer_is_of_this_user();
  }
  void set_handler(sim::StreamHandler& handler) override { stream_->set_handler(handler); }
  void finish_writing() override { stream_->finish_writing(); }
  void reset() override { stream_->reset(); }
  [[nodiscard]] sim::Endpoint local() const override { return stream_->local(); }
  [[nodiscard]] sim::Endpoint peer() const override { return stream_->peer(); }

 protected:
  sim::Ports& ports_;
  std::unique_ptr<sim::Stream> stream_;
};

class InterruptibleStream final : public StreamAround {
 public:
  using StreamAround::StreamAround;
  Outcome<sim::Buffer> read(std::optional<MonotonicTime> deadline) override;
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

class RaisingStream final : public StreamAround {
 public:
  RaisingStream(sim::FiberId main_thread, sim::Ports& ports, std::unique_ptr<sim::Stream> stream)
      : StreamAround(ports, std::move(stream)), main_thread_(main_thread) {}
  Outcome<sim::Buffer> read(std::optional<MonotonicTime> deadline) override;

 private:
  sim::FiberId main_thread_;
};

Outcome<sim::Buffer> RaisingStream::read(std::optional<MonotonicTime> deadline) {
  if (ports_.executor.ticket().fiber != main_thread_) return stream_->read(deadline);
  for (;;) {
    check_signals(ports_);
    const MonotonicTime slice = ports_.clock.monotonic_now() + kSlice;
    const bool is_last = deadline && *deadline <= slice;
    auto more = stream_->read(is_last ? *deadline : slice);
    if (more || more.failure().fault != sim::Fault::timed_out || is_last) return more;
  }
}

}  // namespace

std::unique_ptr<sim::Stream> interruptible(sim::Ports& ports, std::unique_ptr<sim::Stream> stream) {
  return std::make_unique<InterruptibleStream>(ports, std::move(stream));
}

std::unique_ptr<sim::Stream> raising_in(sim::FiberId main_thread, sim::Ports& ports,
                                        std::unique_ptr<sim::Stream> stream) {
  return std::make_unique<RaisingStream>(main_thread, ports, std::move(stream));
}

}  // namespace hooke::model
