#pragma once
// Reads the pickle of a state without executing anything: a closed list of opcodes and classes is
// understood, everything else is refused. See spec: what a reader must accept and refuse.

#include <string>

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/state/state.h"

namespace hooke::model {

/// What becomes of a state that the other generation of PyTorch has written, whose nodes have their
/// address under another name. An onlooker reads it; no agent may write it back, for nodes that
/// have written it could not read it any more.
enum class Foreign : unsigned char { read, refused };

/// The state in `bytes`. Protocols 2 to 5, and what protocols 0 and 1 need. Attributes this model
/// does not know are dropped; nodes share an object where they do in the pickle.
/// RendezvousStateError names the byte offset, what was found and what was expected. Memory and
/// time are bounded by the size of `bytes`.
RendezvousState unpickle_state(const std::string& bytes, Variant variant,
                               Foreign foreign = Foreign::read);

}  // namespace hooke::model
