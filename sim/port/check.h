#pragma once
// Assertions that stay on in release builds: a simulator whose own invariants are broken must stop
// at the place, not report a verdict.

namespace hooke::sim {

/// Prints the broken condition with its place and aborts. Never returns.
[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const char* meaning) noexcept;

}  // namespace hooke::sim

/// Aborts with `meaning` when `condition` is false; evaluated in every build type.
#define HOOKE_CHECK(condition, meaning) \
  (static_cast<bool>(condition)         \
       ? static_cast<void>(0)           \
       : ::hooke::sim::check_failed(#condition, __FILE__, __LINE__, meaning))
