// Texts that strangers have written where the elastic protocol reads: the state of a legacy
// rendezvous, its extra data, an event. Each is refused with a reason, or understood so that it can
// be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/observe/elastic_event.h"
#include "model/rendezvous/legacy_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const model::LegacyState state = model::parse_legacy_state(text);
    if (model::parse_legacy_state(model::encode_legacy_state(state)) != state) std::abort();
  } catch (const std::invalid_argument&) {
  }
  try {
    const auto texts = model::parse_texts(text);
    if (model::parse_texts(model::encode_texts(texts)) != texts) std::abort();
  } catch (const std::invalid_argument&) {
  }
  try {
    const std::string event = model::encode_elastic_event(model::parse_elastic_event(text));
    if (model::encode_elastic_event(model::parse_elastic_event(event)) != event) std::abort();
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
