#pragma once
// What can go wrong between a client and etcd.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hooke::model {

/// etcd answered, and the answer is no.
class EtcdError : public std::runtime_error {
 public:
  /// v2: etcd's errorCode (100 key not found, 101 compare failed, 105 exists, 401 index cleared);
  /// v3: the gRPC status (5 not found, 11 compacted, 16 unauthenticated). The HTTP status where
  /// etcd gives neither.
  EtcdError(int code, const std::string& what, bool in_doubt = false)
      : std::runtime_error(what), code_(code), in_doubt_(in_doubt) {}
  [[nodiscard]] int code() const { return code_; }
  /// The same request was sent before without an answer: what is refused now may have been done.
  [[nodiscard]] bool in_doubt() const { return in_doubt_; }

 private:
  int code_;
  bool in_doubt_;
};

/// No member could be asked, or none gave an answer that makes sense.
class EtcdConnectionError : public std::runtime_error {
 public:
  EtcdConnectionError(const std::string& what, bool outcome_unknown)
      : std::runtime_error(what), outcome_unknown_(outcome_unknown) {}
  /// A write may have taken effect all the same: read again before relying on either.
  [[nodiscard]] bool outcome_unknown() const { return outcome_unknown_; }

 private:
  bool outcome_unknown_;
};

/// etcd has forgotten the changes that would tell whether a write has taken effect: to ask again is
/// in vain, its outcome stays unknown.
class EtcdForgottenError : public EtcdConnectionError {
 public:
  explicit EtcdForgottenError(const std::string& what) : EtcdConnectionError(what, true) {}
};

}  // namespace hooke::model
