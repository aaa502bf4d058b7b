#pragma once
// The machine's own network: TCP over IPv4 and IPv6, socket files, names from the system's
// resolver.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/executor.h"
#include "sim/port/network.h"
#include "sim/real/event_loop.h"
#include "sim/real/last_words.h"
#include "sim/real/slow_look_ups.h"

namespace hooke::real {

class RealNetwork final : public sim::Network {
 public:
  RealNetwork(EventLoop& loop, sim::Executor& executor);
  ~RealNetwork() override = default;
  RealNetwork(const RealNetwork&) = delete;
  RealNetwork& operator=(const RealNetwork&) = delete;

  /// All interfaces, IPv6 and IPv4 on one port. Also fails with denied (a privileged port).
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber port,
                                                      sim::AcceptHandler& handler) override;
  /// 127.0.0.1, or ::1 on a machine without IPv4.
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_loopback(
      sim::PortNumber port, sim::AcceptHandler& handler) override;
  /// Tries all addresses of the host in the resolver's order; the failure is that of the last.
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(
      const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) override;
  /// The file is its owner's alone (mode 0600) before anybody can connect to it.
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string& path,
                                                            sim::AcceptHandler& handler) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string& path, std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const sim::Endpoint& to, const sim::TlsOptions& tls,
      std::optional<sim::MonotonicTime> deadline) override;
  sim::Outcome<std::vector<std::string>> resolve(const std::string& host) override;
  sim::Outcome<std::string> canonical_name(const std::string& host) override;
  [[nodiscard]] std::string host_name() const override;
  [[nodiscard]] std::string fully_qualified_name() const override;

  void on_slow_look_up(TellSlowLookUp tell) { slow_look_ups_.tell_by(std::move(tell)); }

  // For streams and listeners.
  [[nodiscard]] EventLoop& loop() const { return loop_; }
  [[nodiscard]] sim::Executor& executor() const { return executor_; }
  [[nodiscard]] sim::Endpoint local_of(int socket) const;
  [[nodiscard]] sim::Endpoint peer_of(int socket) const;
  /// Takes over a socket whose stream is gone, until `rest` is sent.
  void linger(Descriptor socket, std::string rest) {
    last_words_.take_over(std::move(socket), std::move(rest));
  }

 private:
  sim::Outcome<std::unique_ptr<sim::Listener>> serve(Descriptor socket, int other_family,
                                                     sim::PortNumber port, bool loopback,
                                                     sim::AcceptHandler& handler);

  EventLoop& loop_;
  sim::Executor& executor_;
  LastWords last_words_;
  /// Looking a name up changes nothing of the network.
  mutable SlowLookUps slow_look_ups_;
};

}  // namespace hooke::real
