// Everything is passed on; a read is passed on in slices.
#include "model/signals/interruptible_stream.h"

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
  [[nodiscard]] std::size_t unsent() const override { return stream_->unsent(); }
  [[nodiscard]] bool peer_is_of_this_user() const override {
    return stream_->peer_is_of_this_user();
  }
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

std::unique_ptr<sim::Stream> interruptible(sim::Ports& ports, std::unique_ptr<sim::Stream> stream) {
  return std::make_unique<InterruptibleStream>(ports, std::move(stream));
}

}  // namespace hooke::model
