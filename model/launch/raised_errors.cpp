#include "model/launch/raised_errors.h"

#include <stdexcept>

#include "model/observe/python_error.h"
#include "model/observe/raised_errors.h"
#include "model/rendezvous/core/errors.h"
#include "model/store/store.h"
#include "sim/port/check.h"

namespace hooke::model {

void raise_error(std::string_view class_name) {
  constexpr const char* kText = "raised at a fault point";
  if (class_name == raised::kConnection) throw RendezvousConnectionError(kText);
  if (class_name == raised::kTimeout) throw RendezvousTimeoutError(kText);
  if (class_name == raised::kState) throw RendezvousStateError(kText);
  if (class_name == raised::kClosed) throw RendezvousClosedError(kText);
  if (class_name == raised::kGracefulExit) throw RendezvousGracefulExitError(kText);
  if (class_name == raised::kStoreTimeout) throw StoreTimeoutError(kText);
  if (class_name == raised::kStoreNetwork) throw StoreNetworkError(kText);
  if (class_name == raised::kSystem) throw EscapedPythonError("OSError", kText);
  HOOKE_CHECK(class_name == raised::kRuntime, "an error that is raised is one of the list");
  throw std::runtime_error(kText);
}

}  // namespace hooke::model
