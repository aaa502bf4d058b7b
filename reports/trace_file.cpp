// One line per event.
#include "reports/trace_file.h"

#include <nlohmann/json.hpp>

namespace hooke::report {

void TraceFile::on_event(const sim::Event& event) {
  nlohmann::ordered_json line{{"event", event.id.value},
                              {"parent", event.parent.value},
                              {"at_ns", event.at.time_since_epoch().count()},
                              {"type", event.type->name}};
  if (event.node != sim::kNoNode) {
    line["node"] = event.node.value < node_names_.size() ? node_names_[event.node.value]
                                                         : std::to_string(event.node.value);
    line["pid"] = event.pid.value;
    line["wall_ns"] = event.wall.time_since_epoch().count();
  }
  for (std::size_t i = 0; i < event.type->field_count; ++i) {
    const std::string name(event.type->fields[i]);
    if (event.fields[i].is_text()) {
      line[name] = event.fields[i].text();
    } else {
      line[name] = event.fields[i].number();
    }
  }
  out_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void TraceFile::finish(sim::WorldTime judged_at) {
  out_ << nlohmann::ordered_json{{"type", "trace.ended"},
                                 {"at_ns", judged_at.time_since_epoch().count()}}
       << '\n';
}

}  // namespace hooke::report
