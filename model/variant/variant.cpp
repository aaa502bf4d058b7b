// Names of the protocol variants, as they appear in scenarios.
#include "model/variant/variant.h"

namespace hooke::model {

std::string_view to_string(Variant variant) {
  switch (variant) {
    case Variant::torch_1_13: return "torch-1.13";
    case Variant::torch_2_x: return "torch-2.x";
    case Variant::hardened: return "hardened";
  }
  return "?";
}

std::optional<Variant> variant_from(std::string_view name) {
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x, Variant::hardened}) {
    if (to_string(variant) == name) return variant;
  }
  return std::nullopt;
}

bool share_a_job(Variant one, Variant other) {
  return one == other || (one != Variant::torch_1_13 && other != Variant::torch_1_13);
}

bool waits_without_limit_for_the_killed(Variant variant) {
  return variant == Variant::torch_1_13;
}

bool says_error_traits(Variant variant) {
  return variant != Variant::torch_1_13;
}

}  // namespace hooke::model
