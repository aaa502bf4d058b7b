#pragma once
// Which client wrote a number that several count: two that add to it write the same digits, and
// after a reply was lost no client could tell whether they were its own.

#include <string>

#include "sim/port/buffer.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Blanks to write behind a number, which none of its readers minds (Python's int() and C's strtoll
/// skip them), and which no other call has: by this process, and a draw.
std::string draw_signature(sim::Ports& ports);
/// `value` without the signature behind it; as it is where there is none.
sim::Value without_signature(const sim::Value& value);

}  // namespace hooke::model
