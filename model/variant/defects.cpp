// One list of names out of two tables.
#include "model/variant/defects.h"

namespace hooke::model {

std::vector<std::string_view> defect_names() {
  std::vector<std::string_view> out;
  for (const Defect& defect : kDefects) out.push_back(defect.name);
  for (const PlantedDefect& planted : planted_defects()) out.push_back(planted.name);
  return out;
}

}  // namespace hooke::model
