// Scopes without a name.
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

std::string Timers::scope_of(const std::source_location& where) {
  return std::string(where.file_name()) + "#" + std::to_string(where.line());
}

}  // namespace hooke::model
