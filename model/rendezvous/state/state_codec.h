#pragma once
// The state's wire form: the Python pickle PyTorch stores. Reading never executes anything: only
// the known classes and opcodes are understood, everything else is a RendezvousStateError that
// names the byte offset.

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/state/pickle_reader.h"
#include "model/rendezvous/state/state.h"
#include "model/store/base64.h"
#include "sim/port/buffer.h"

namespace hooke::model {

/// Wraps `state` as a value of the exact size its pickle has; the pickle is produced only when
/// a reader asks for the bytes. Times must be whole microseconds: checked when the bytes are
/// written or counted. They are not counted anew where `like`, a value made by this function, is of
/// a state that differs in nothing but times, as before and after a keep-alive.
sim::Value encode_state(StateRef state, Variant variant, const sim::Value& like = {});

/// The state in `value`; shares it when the value was made by encode_state of the same variant and
/// its bytes would be read as just that. Throws RendezvousStateError naming the byte offset and
/// what was expected.
StateRef decode_state(const sim::Value& value, Variant variant, Foreign foreign = Foreign::read);

/// The bytes behind the Base64 text in which backends keep a state; RendezvousStateError.
sim::Value decode_stored(const sim::Value& text);

}  // namespace hooke::model
