// Names of the protocol variants, as they appear in scenarios.
#include "model/variant/variant.h"

namespace hooke::model {

std::string_view to_string(Variant variant) {
  return variant == Variant::torch_1_13 ? "torch-1.13" : "torch-2.x";
}

std::optional<Variant> variant_from(std::string_view name) {
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x}) {
    if (to_string(variant) == name) return variant;
  }
  return std::nullopt;
}

}  // namespace hooke::model
