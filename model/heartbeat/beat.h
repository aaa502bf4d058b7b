#pragma once
// The message of heartbeats: a line of JSON that a worker sends over a TCP connection. A program in
// any language can beat with a socket and a format string:
//
//   {"worker": "<HOOKE_HEARTBEAT_WORKER>", "beat": 1}\n
//
// "beat" counts up from one beat to the next, over reconnections too. "last": true says that no
// further beat will come and none is to be missed. "peers": true asks which workers of the group
// live: an agent that knows answers with a line, as peers.h has it, and else there is no answer.
// Other members are passed over.

#include <cstdint>
#include <string>
#include <string_view>

namespace hooke::model {

/// No line, with its newline, is longer.
inline constexpr std::size_t kBeatBytesMax = 4096;

struct Beat {
  std::string worker;       ///< the name that the worker was given; 1 to 256 bytes
  std::uint64_t count = 0;  ///< grows; a beat that does not come later than one seen is an old one
  bool last = false;
  bool asks = false;  ///< for a line of peers.h
  friend bool operator==(const Beat&, const Beat&) = default;
};

/// The line without its newline, in ASCII.
std::string encode_beat(const Beat& beat);

/// Reads such a line. std::invalid_argument naming the byte or the member that is wrong, and what
/// was expected.
Beat parse_beat(std::string_view line);

}  // namespace hooke::model
