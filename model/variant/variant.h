#pragma once
// Which PyTorch the model is faithful to. Differences are asked for by name, one predicate per
// difference, so that no code compares version numbers.

#include <optional>
#include <string_view>

namespace hooke::model {

enum class Variant : unsigned char {
  torch_1_13,  ///< PyTorch 1.13
  torch_2_x,   ///< PyTorch 2.13, faithful including its faults (default)
  hardened,    ///< torch_2_x on every wire, without the weaknesses that one side can mend
};

/// "torch-1.13", "torch-2.x", "hardened".
std::string_view to_string(Variant variant);
/// nullopt for an unknown name.
std::optional<Variant> variant_from(std::string_view name);
/// Agents of both understand each other's state. 1.13 writes other times and another name of the
/// host than all that came later.
bool share_a_job(Variant one, Variant other);

// ---- which release changed it -------------------------------------------------------------------

/// A worker that not even SIGKILL ends is waited for without limit up to 2.12. Since 2.13
/// (pytorch/pytorch#185414) it is waited for once more for the grace of that stop, and the stop
/// goes on without it (multiprocessing/api.py:SubprocessContext._close).
bool waits_without_limit_for_the_killed(Variant variant);

/// A failure with an exit code and without a word of the worker says that the system ended it and
/// that it cannot be tried again (errors/__init__.py:ProcessFailure). Not yet in 1.13.
bool says_error_traits(Variant variant);

}  // namespace hooke::model
