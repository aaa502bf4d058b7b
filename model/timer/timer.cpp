// Which client is asked.
#include "model/timer/timer.h"

#include "model/observe/python_error.h"

namespace hooke::model {

std::shared_ptr<TimerClient> Timers::configured() const {
  if (client_ == nullptr) {
    throw EscapedPythonError("RuntimeError",
                             "there is no timer client: configure one before a scope is entered");
  }
  return client_;
}

}  // namespace hooke::model
