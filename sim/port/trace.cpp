// Access to event fields by name.
#include "sim/port/trace.h"

#include "sim/port/check.h"

namespace hooke::sim {

const FieldValue& Event::field(std::string_view name) const {
  HOOKE_CHECK(type != nullptr && fields.size() == type->field_count,
              "an event has the fields of its type");
  for (std::size_t i = 0; i < type->field_count; ++i) {
    if (type->fields[i] == name) return fields[i];
  }
  check_failed("field exists", __FILE__, __LINE__,
               "an event was asked for a field its type does not declare");
}

}  // namespace hooke::sim
