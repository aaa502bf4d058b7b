#pragma once
// One TCP connection of the machine. Fibers read it directly; a handler is fed by the event loop
// and is not fed any more while its answers do not get away, so that a client that never reads
// costs a bounded amount of memory.

#include <sys/types.h>

#include <string>

#include "sim/port/executor.h"
#include "sim/port/network.h"
#include "sim/real/event_loop.h"

namespace hooke::real {

class RealNetwork;

class RealStream final : public sim::Stream, private Watcher {
 public:
  /// `socket` is connected and does not block.
  RealStream(RealNetwork& network, Descriptor socket);
  ~RealStream() override;
  RealStream(const RealStream&) = delete;
  RealStream& operator=(const RealStream&) = delete;

  sim::Outcome<sim::Done> write(sim::Buffer bytes) override;
  [[nodiscard]] bool backed_up() const override;
  [[nodiscard]] std::size_t unsent() const override { return out_.size() - sent_; }
  [[nodiscard]] bool peer_is_of_this_user() const override;
  sim::Outcome<sim::Buffer> read(std::optional<sim::MonotonicTime> deadline) override;
  void set_handler(sim::StreamHandler& handler) override;
  void finish_writing() override;
  void reset() override;
  [[nodiscard]] sim::Endpoint local() const override { return local_; }
  [[nodiscard]] sim::Endpoint peer() const override { return peer_; }

 private:
  void on_ready(std::uint32_t events) override;
  /// Sends what the socket takes now.
  void flush();
  /// recv into the scratch bytes, saved when it could only say that there is nothing.
  ssize_t receive();
  /// Reads for the handler until there is no more, its turn is over, or its answers back up.
  void feed_handler();
  /// The connection is of no more use; the descriptor stays until the end.
  void break_off() { broken_ = true; }

  RealNetwork& network_;
  Descriptor socket_;
  WatchId watch_;
  sim::Endpoint local_, peer_;
  std::string out_;  ///< written and not yet taken by the socket, from sent_ on
  std::size_t sent_ = 0;
  bool finish_when_sent_ = false;
  bool broken_ = false;
  bool ended_ = false;    ///< the peer sends no more
  bool drained_ = false;  ///< nothing to read until the event loop says so
  bool hung_up_ = false;  ///< the event loop has told the end, and will not tell it again
  bool starved_ = false;  ///< the handler is not fed until its answers get away
  sim::StreamHandler* handler_ = nullptr;
  sim::Buffer received_;  ///< for the handler, not yet consumed
  std::optional<sim::ParkTicket> reader_;
  bool* destroyed_ = nullptr;  ///< set while a handler runs, which may destroy us
};

}  // namespace hooke::real
