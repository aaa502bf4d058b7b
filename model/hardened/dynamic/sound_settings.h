#pragma once
// The problem: PyTorch takes settings under which no round can form in silence.

#include "model/rendezvous/core/settings.h"

namespace hooke::model {

/// std::invalid_argument naming the settings that contradict each other.
void refuse_what_cannot_work(const RendezvousSettings& settings);

}  // namespace hooke::model
