#pragma once
// The problem: between two calls into its native store client the Python interpreter takes steps,
// and a caught signal is raised at the first of them; inside a call it is not. This view of a
// store takes such a step after every call, so that code written against Store is interrupted
// exactly where PyTorch's is.

#include <memory>

#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// A view of `store` whose calls raise SignalException when they have returned and a caught signal
/// is pending. A call that fails raises its own error; the signal stays pending. `ports` must
/// outlive the view.
std::shared_ptr<Store> make_stepping_store(sim::Ports& ports, std::shared_ptr<Store> store);

}  // namespace hooke::model
