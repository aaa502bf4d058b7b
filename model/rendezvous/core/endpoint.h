#pragma once
// Endpoints as the command line writes them, and whether a host name means this machine
// (torch/distributed/elastic/rendezvous/utils.py).

#include <functional>
#include <string>

#include "model/variant/variant.h"
#include "sim/port/network.h"

namespace hooke::model {

/// "host", "host:port", "[v6]:port"; blank means localhost. std::invalid_argument naming what is
/// wrong. As in PyTorch, an IPv6 address without brackets is mis-split.
sim::Endpoint parse_endpoint(const std::string& text, std::uint16_t default_port);

/// The form in which two host names are compared.
using NameForm = std::function<std::string(std::string)>;
/// PyTorch's, although the case of letters means nothing in a host name.
std::string as_written(std::string name);

/// True if `host` is this machine, by PyTorch's rules in their order: loopback, host name, then two
/// look-ups; 1.13 looks only its own name up. A failure to resolve that is a std::runtime_error.
bool matches_this_machine(sim::Network& network, const std::string& host,
                          Variant variant = Variant::torch_2_x,
                          const NameForm& as_compared = as_written);

}  // namespace hooke::model
