#pragma once
// What an agent and a worker pool say to each other: messages of texts over a connection.
//
// agent to pool                                  answer
//   lease COUNT                                  leased | refused REASON
//   start NEW_SESSION STDOUT STDERR ARGC ARG… NAME VALUE…   started PID | failed FAULT DETAIL
//   signal PID NUMBER GROUP                      signalled | failed FAULT DETAIL
//   release                                      released
// The pool also says, whenever it is so:         ended PID CODE SIGNAL (0 for none)
// Answers come in the order of what was asked. A connection is one agent's lease, and ends with it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/buffer.h"

namespace hooke::model {

using PoolMessage = std::vector<std::string>;

inline constexpr std::size_t kPoolTextsMax = 65'536;
inline constexpr std::size_t kPoolMessageBytesMax = 16U << 20U;

/// A 32-bit count of texts, then each with its 32-bit length before it, all big-endian.
/// std::invalid_argument beyond the limits above.
std::string encode_pool_message(const PoolMessage& message);
/// Takes a message off the front; nullopt while it is not complete. std::invalid_argument when what
/// is there is none, or passes the limits.
std::optional<PoolMessage> take_pool_message(sim::Buffer& received);

/// The largest number of a process that a message names.
inline constexpr std::int64_t kLargestPoolPid = 0x7fffffff;
/// std::invalid_argument unless `text` is a decimal number from `low` to `high`.
std::int64_t pool_number(const std::string& text, std::int64_t low, std::int64_t high);

}  // namespace hooke::model
