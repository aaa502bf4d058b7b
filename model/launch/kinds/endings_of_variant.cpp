#include "model/launch/kinds/endings_of_variant.h"

#include "model/hardened/launch/hardened_endings.h"
#include "model/planted/planted_endings.h"

namespace hooke::model {
namespace {

template <class Kind>
std::unique_ptr<Endings> make_kind(sim::Ports& ports, const WorkerSpec& spec) {
  if (spec.planted == PlantedSet()) return std::make_unique<Kind>(ports, spec);
  return std::make_unique<PlantedEndings<Kind>>(ports, spec);
}

}  // namespace

std::unique_ptr<Endings> make_endings(sim::Ports& ports, const WorkerSpec& spec) {
  return spec.variant == Variant::hardened ? make_kind<HardenedEndings>(ports, spec)
                                           : make_kind<Endings>(ports, spec);
}

}  // namespace hooke::model
