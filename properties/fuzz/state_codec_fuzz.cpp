// Bytes from the store as a state: reading must either refuse with RendezvousStateError or give a
// state that survives being written and read again, as either variant. Input that is Base64 text is
// read as the c10d store would hold it, too.
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/rendezvous/state/state_codec.h"
#include "sim/port/check.h"

namespace {

using namespace hooke::model;  // NOLINT

void read_write_read(const hooke::sim::Value& input, Variant variant) {
  StateRef state;
  try {
    state = decode_state(input, variant);
  } catch (const RendezvousStateError&) {
    return;
  }
  const hooke::sim::Value written = encode_state(state, variant);
  const std::size_t size = written.size();
  const hooke::sim::Value bytes(written.bytes());
  HOOKE_CHECK(size == bytes.size(), "a size is known before encoding");
  const StateRef again = decode_state(bytes, variant);
  RendezvousState expected = *state;
  if (variant == Variant::torch_1_13) expected.redundancy_list.clear();
  expected.aware_times = decode_state(written, variant)->aware_times;
  HOOKE_CHECK(*again == expected, "a state survives writing and reading");
  const hooke::sim::Value rewritten = encode_state(again, variant);
  HOOKE_CHECK(rewritten.bytes() == bytes.bytes(), "writing what was read changes nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const hooke::sim::Value input(std::string(reinterpret_cast<const char*>(data), size));
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x}) {
    read_write_read(input, variant);
    try {
      read_write_read(decode_stored(input), variant);
    } catch (const RendezvousStateError&) {
      continue;
    }
  }
  return 0;
}
