#pragma once
// Python's own exceptions, where PyTorch lets them through.

#include <stdexcept>
#include <string>

namespace hooke::model {

/// A raw Python exception that PyTorch lets escape; `class_name` is "TypeError", "KeyError",
/// "AssertionError", "LookupError" and so on. Deliberately neither a RendezvousError nor a
/// StoreError: no code of PyTorch handles it (R-9, S-L16).
class EscapedPythonError : public std::runtime_error {
 public:
  EscapedPythonError(const char* class_name, const std::string& what)
      : std::runtime_error(std::string(class_name) + ": " + what), class_name_(class_name) {}
  [[nodiscard]] const char* class_name() const { return class_name_; }

 private:
  const char* class_name_;
};

}  // namespace hooke::model
