#pragma once
// A stream that is destroyed has often just been written to, and its peer shall get that. So the
// socket outlives it, but not for long, and not for many bytes: a peer that reads nothing must cost
// no memory for ever.

#include <memory>
#include <string>
#include <vector>

#include "sim/real/event_loop.h"

namespace hooke::real {

class LastWords {
 public:
  explicit LastWords(EventLoop& loop);
  /// Sends what is left, for at most two seconds.
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  /// Takes over a socket until `rest`, which is not empty, is sent, the peer has taken in nothing
  /// of it for 15 s, or all that is left of all sockets comes to more than 64 MiB: then those that
  /// have waited longest go first. A `rest` beyond that alone is not sent.
  void take_over(Descriptor socket, std::string rest);

 private:
  class Connection;
  EventLoop& loop_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace hooke::real
