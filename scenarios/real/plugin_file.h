#pragma once
// Parts of agents from a shared library, for the real world alone: a simulated one must not change
// with what lies on a disk.

#include <string>

#include "model/launch/plugins.h"

namespace hooke::scenario {

/// Loads `path` and lets its entry point (model::kPluginEntryPoint) register what it brings. The
/// library stays loaded. std::runtime_error naming the file: it cannot be loaded, has no entry
/// point, or registers what cannot be registered. The library is built against hooke's headers and
/// linked against none of its libraries: it finds them in the program that loads it.
void load_plugin_file(const std::string& path, model::Plugins& plugins);

}  // namespace hooke::scenario
