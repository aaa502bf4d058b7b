#pragma once
// An etcd of one's own, where its program is installed
// (torch/distributed/elastic/rendezvous/etcd_server.py:EtcdServer).

#include <optional>
#include <string>

#include "sim/port/ports.h"

namespace hooke::model {

class EmbeddedEtcd {
 public:
  struct Options {
    sim::PortNumber port{};      ///< for clients; 0: one that is free
    std::string data_directory;  ///< must be empty or not there yet; removed by stop()
    sim::Duration timeout = std::chrono::seconds(60);  ///< until it answers
    bool loopback = false;                             ///< for clients of this machine alone
  };

  /// Starts the program named by TORCHELASTIC_ETCD_BINARY_PATH, else `etcd` of the PATH, with its
  /// v2 API if it has one, and waits until it answers. std::runtime_error naming
  /// the program when it cannot be started, ends, or does not answer in time.
  EmbeddedEtcd(sim::Ports& ports, const Options& options);
  /// Kills it unless it has been stopped; its data stays.
  ~EmbeddedEtcd();
  EmbeddedEtcd(const EmbeddedEtcd&) = delete;
  EmbeddedEtcd& operator=(const EmbeddedEtcd&) = delete;

  [[nodiscard]] sim::Endpoint endpoint() const { return {"localhost", port_}; }
  [[nodiscard]] sim::Pid pid() const { return pid_; }
  /// Ends it orderly, and with force if it takes longer than ten seconds; removes its data.
  void stop();

 private:
  void start(const Options& options, bool with_v2);
  /// False when the process has ended.
  bool await_answer(sim::MonotonicTime deadline);

  sim::Ports& ports_;
  std::string program_;
  std::string data_directory_;
  sim::PortNumber port_;
  sim::Pid pid_;
  bool running_ = false;
};

}  // namespace hooke::model
