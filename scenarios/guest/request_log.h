#pragma once
// Which requests an agent sends to its store, read off its connections: the same code looks at
// hooke's agents and at PyTorch's, which share nothing above the network port.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/store/wire.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

/// Called for each whole request of the TCPStore's wire format, when it is sent; must not block.
using OnRequest = std::function<void(const model::Request&)>;

/// A network that shows the requests that go out, and is otherwise `real`, which must outlive it. A
/// connection on which anything else is spoken is left alone.
std::unique_ptr<sim::Network> watched_network(sim::Network& real, model::Variant variant,
                                              OnRequest on_request);

/// What is compared of a request: operation, key, and the value by its meaning.
struct RequestText {
  std::string text;  ///< times left out; lists without the order in which Python's sets were walked
  std::vector<sim::WallTime> times;  ///< those of a rendezvous state, in the order of the text
  std::size_t bytes = 0;             ///< of the values, as they travel
};
RequestText text_of(const model::Request& request, model::Variant variant);

}  // namespace hooke::scenario
