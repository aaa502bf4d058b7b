#pragma once
// Result of anything that crosses a port: it worked, it certainly did not, or its outcome is
// unknown. The third value is not a nicety: a lost reply to a compare-and-set is neither success
// nor failure, and code that folds it into either is the bug this tool exists to find (Jepsen,
// "indeterminate").

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace hooke::sim {

/// Why an operation at a port did not succeed.
enum class Fault : unsigned char {
  timed_out,           ///< the caller's deadline passed
  connection_refused,  ///< nothing listens there, or its backlog is full
  connection_reset,    ///< the peer or the path broke an established connection
  unresolvable,        ///< the name has no address
  unreachable,         ///< no path to the address
  address_in_use,      ///< another listener holds the port
  closed,              ///< used after close, or the peer closed in mid-message
  not_found,           ///< no such file, process or program
  exists,              ///< it is already there and must not be
  no_space,            ///< the disk is full
  denied,              ///< the operating system refuses
  interrupted,         ///< a caught signal arrived while waiting
  malformed,           ///< the peer sent bytes outside the protocol
};

/// Stable lower-case name of a fault, as printed and traced.
constexpr std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::timed_out: return "timed out";
    case Fault::connection_refused: return "connection refused";
    case Fault::connection_reset: return "connection reset";
    case Fault::unresolvable: return "name cannot be resolved";
    case Fault::unreachable: return "unreachable";
    case Fault::address_in_use: return "address already in use";
    case Fault::closed: return "closed";
    case Fault::not_found: return "not found";
    case Fault::exists: return "already exists";
    case Fault::no_space: return "no space left";
    case Fault::denied: return "denied";
    case Fault::interrupted: return "interrupted";
    case Fault::malformed: return "malformed";
  }
  return "?";
}

/// A fault with the words a person needs: what was attempted, on what.
struct Failure {
  Fault fault{};
  std::string detail;
  /// True when the effect may have happened all the same (request sent, reply lost).
  bool unknown = false;
};

/// Value of type `T`, or a Failure that is either certain or unknown.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Outcome(Failure failure) : state_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] bool unknown() const { return !ok() && failure().unknown; }

  /// The value; std::bad_variant_access when !ok().
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }

  /// The failure; std::bad_variant_access when ok().
  [[nodiscard]] const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

/// Success without a value.
struct Done {};

}  // namespace hooke::sim
