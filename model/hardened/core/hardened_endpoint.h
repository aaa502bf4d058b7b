#pragma once
// The problem: an IPv6 address without brackets is split at its last colon, so that its end becomes
// the port, and a host name in other letters is not this machine's own.

#include <cstdint>
#include <string>

#include "sim/port/network.h"

namespace hooke::model {

/// As parse_endpoint; an address without brackets is a std::invalid_argument too.
sim::Endpoint parse_unambiguous_endpoint(const std::string& text, std::uint16_t default_port);

/// A NameForm: ASCII letters in lower case.
std::string in_lower_case(std::string name);

}  // namespace hooke::model
