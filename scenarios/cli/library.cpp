#include "scenarios/cli/library.h"

#include <cctype>
#include <filesystem>
#include <system_error>

#include "scenarios/cli/scenario_files.h"
#include "scenarios/format/json_reader.h"

namespace hooke::cli {

namespace fs = std::filesystem;

std::optional<std::string> library_of_program() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return std::nullopt;
  const fs::path above = program.parent_path().parent_path();
  for (const fs::path& library :
       {above / "share" / "hooke" / "library", above / "scenarios" / "library",
        above.parent_path() / "scenarios" / "library"}) {
    if (fs::is_directory(library, failed)) return library.string();
  }
  return std::nullopt;
}

std::vector<LibraryScenario> scenarios_below(const std::string& directory) {
  if (!fs::is_directory(directory)) {
    throw scenario::ScenarioError(directory + ": expected a directory of scenario files");
  }
  std::vector<LibraryScenario> found;
  for (const std::string& file : scenario_files({directory})) {
    const nlohmann::ordered_json json = scenario::parse_json(scenario::read_file(file), file);
    const scenario::Place root(json, "", file);
    static_cast<void>(root.at("name").shown_text());  // without one it is another kind of file
    found.push_back(
        {fs::path(file).lexically_relative(directory).replace_extension().generic_string(), file,
         root.has("description") ? root.at("description").shown_text() : ""});
  }
  return found;
}

std::string first_sentence(const std::string& text) {
  for (std::size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1)) {
    // A small letter goes on with the sentence: "e.g. one".
    if (at + 2 < text.size() && std::islower(static_cast<unsigned char>(text[at + 2])) == 0) {
      return text.substr(0, at + 1);
    }
  }
  return text;
}

}  // namespace hooke::cli
