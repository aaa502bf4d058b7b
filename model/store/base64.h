#pragma once
// Base64, in which rendezvous states and etcd's keys and values are written.

#include <cstddef>
#include <stdexcept>
#include <string_view>

#include "sim/port/buffer.h"

namespace hooke::model {

class Base64Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The standard Base64 text of `value`, padded, no line breaks. Lazy: encoded only when a reader
/// asks for the bytes.
sim::Value base64_encode(const sim::Value& value);
/// Inverse; Base64Error on bad padding. Characters outside the alphabet are skipped, as Python
/// does.
sim::Value base64_decode(const sim::Value& text);
/// How many characters of the alphabet, pads not among them, `text` begins with.
std::size_t base64_digits(std::string_view text);

}  // namespace hooke::model
