#pragma once
// PyTorch's events, and where they go (torch/distributed/elastic/events/api.py, handlers.py).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/port/ports.h"

namespace hooke::model {

struct ElasticEvent {
  enum class Source : unsigned char { agent, worker };
  using Datum = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

  std::string name;
  Source source = Source::agent;
  std::int64_t timestamp = 0;  ///< milliseconds; nothing in PyTorch sets it
  std::vector<std::pair<std::string, Datum>> metadata;
};

/// As PyTorch serializes it: one JSON object with the members name, source, timestamp, metadata.
std::string encode_elastic_event(const ElasticEvent& event);
/// std::invalid_argument naming the byte or the member that is wrong.
ElasticEvent parse_elastic_event(std::string_view text);

/// Where events go, by name. "console" writes each as a line to the standard error stream, "null"
/// and "dynamic_rendezvous" drop them; a user's own are added.
class EventHandlers {
 public:
  using Handler = std::function<void(const ElasticEvent&)>;
  explicit EventHandlers(sim::Ports& ports);
  /// Replaces one of that name.
  void add(std::string name, Handler handler) { handlers_[std::move(name)] = std::move(handler); }
  /// Dropped where the environment's LOGLEVEL is above INFO. EscapedPythonError "KeyError" for an
  /// unknown destination: only now, as in PyTorch.
  void record(const ElasticEvent& event, const std::string& destination) const;

 private:
  bool shown_;
  std::map<std::string, Handler> handlers_;
};

}  // namespace hooke::model
