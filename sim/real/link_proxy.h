#pragma once
// A link that can be disturbed: connections to its port are carried on to a server, byte by byte,
// unless somebody cuts, slows or breaks it. How network faults come to real processes without root.

#include <memory>
#include <string>

#include "sim/port/ports.h"

namespace hooke::real {

class LinkProxy {
 public:
  /// Which way bytes go, from the point of view of the client.
  enum class Way { there, back };

  /// Listens on a free port and carries connections on to `target`. std::runtime_error when no port
  /// is free.
  LinkProxy(sim::Ports& ports, sim::Endpoint target);
  ~LinkProxy();
  LinkProxy(const LinkProxy&) = delete;
  LinkProxy& operator=(const LinkProxy&) = delete;

  [[nodiscard]] sim::PortNumber port() const;

  /// Bytes that go this way are held back until they are let through again, as by a partition that
  /// TCP outlives; connections made meanwhile stay without an answer.
  void cut(Way way);
  void mend(Way way);
  /// Bytes that go this way are thrown away from now on, until mended: what was asked for happens,
  /// and no process hears of it.
  void swallow(Way way);
  /// Holds every piece of bytes for `span` before it goes on; zero: no more.
  void delay(sim::Duration span);
  /// Lets through at most so many bytes a second; 0: as many as come.
  void limit(std::int64_t bytes_per_second);
  /// Breaks all connections that are there now, on both sides.
  void reset();
  /// True if a fault has held, thrown away or broken anything since the last call.
  bool was_felt();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hooke::real
