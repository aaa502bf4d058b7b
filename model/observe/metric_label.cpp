#include "model/observe/metric_label.h"

#include "sim/port/check.h"

namespace hooke::model {

std::string metric_label(std::string_view name, std::string_view value) {
  HOOKE_CHECK(!name.empty(), "a label has a name");
  std::string out(name);
  out += "=\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace hooke::model
