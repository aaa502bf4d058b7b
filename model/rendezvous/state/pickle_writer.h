#pragma once
// Writes the state as CPython's pickle, protocol 4, byte for byte (Modules/_pickle.c: framing,
// memoising, batches), or only measures it.

#include <cstddef>
#include <string>

#include "model/rendezvous/state/state.h"

namespace hooke::model {

/// The pickle of `state` as `variant` names its fields.
std::string pickle_state(const RendezvousState& state, Variant variant);

/// The size of that pickle, without writing it. One cheap pass over the members.
std::size_t pickled_state_bytes(const RendezvousState& state, Variant variant);

/// Bytes that a node's address, pid and local id take in a pickle.
std::size_t pickled_node_value_bytes(const NodeDesc& desc);

}  // namespace hooke::model
