// A file that somebody else has written as a file store: reading it either says where it is spoilt
// or gives keys and values that survive being written on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "model/store/file_store.h"
#include "sim/real/real_process.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hooke;  // NOLINT
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("hooke-fuzz-" + std::to_string(getpid())))
          .string();
  real::RealProcess process({"fuzz"});
  process.run([&](sim::Ports& ports) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (!ports.files.write(path, bytes)) std::abort();
    try {
      const auto store = model::open_file_store(ports, path);
      const std::int64_t before = store->num_keys();
      store->set("hooke", model::Value("still here"));
      const auto other = model::open_file_store(ports, path);
      if (other->get("hooke").bytes() != "still here") std::abort();
      if (other->num_keys() < before) std::abort();
    } catch (const model::StoreError&) {
      // Said, and nothing was lost: the file is as it was.
      if (ports.files.read(path).value() != bytes) std::abort();
    }
    static_cast<void>(ports.files.remove(path));
    return 0;
  });
  return 0;
}
