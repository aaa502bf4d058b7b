// Loaded at once with all that it needs, so that what is missing is known before anything runs.
#include "scenarios/real/plugin_file.h"

#include <dlfcn.h>

#include <stdexcept>

namespace hooke::scenario {

void load_plugin_file(const std::string& path, model::Plugins& plugins) {
  // A bare name would be looked for among the system's libraries.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(path + ": cannot be loaded: " + dlerror());
  using Entry = void (*)(model::Plugins&);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, model::kPluginEntryPoint));
  if (entry == nullptr) {
    throw std::runtime_error(path + ": has no entry point " + model::kPluginEntryPoint +
                             ", as a plug-in for this version has");
  }
  try {
    entry(plugins);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  } catch (...) {
    throw std::runtime_error(path + ": its entry point has thrown what is no std::exception");
  }
}

}  // namespace hooke::scenario
