#pragma once
// The network of whoever asks a store and must not be deaf meanwhile.

#include "sim/port/ports.h"

namespace hooke::model {

/// A network like that of the ports, except that a caught signal ends a client's read: within a
/// second such a read has timed out, as if its deadline had come. PyTorch's clients go on waiting
/// . Only reads with a deadline are ended, and the signal is left for whoever takes it.
class InterruptibleNetwork final : public sim::Network {
 public:
  /// `ports` must outlive it, and its streams.
  explicit InterruptibleNetwork(sim::Ports& ports) : ports_(ports) {}

  sim::Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber port,
                                                      sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string& path,
                                                            sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string& path, std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(
      const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const sim::Endpoint& to, const sim::TlsOptions& tls,
      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::vector<std::string>> resolve(const std::string& host) override;
  sim::Outcome<std::string> canonical_name(const std::string& host) override;
  [[nodiscard]] std::string host_name() const override;
  [[nodiscard]] std::string fully_qualified_name() const override;

 private:
  sim::Outcome<std::unique_ptr<sim::Stream>> interruptible(
      sim::Outcome<std::unique_ptr<sim::Stream>> stream);

  sim::Ports& ports_;
};

}  // namespace hooke::model
