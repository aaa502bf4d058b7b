#pragma once
// What a shell can complete at the end of a command line. The words come from the commands
// themselves: their names, their options, and what the help calls a value (FILE, DIR, INVARIANT,
// {sim,real}).

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hooke::cli {

struct Completion {
  std::string word;     ///< the whole of it, not only what is missing
  std::string meaning;  ///< in one line; may be empty
};

/// What the shell adds to the words by its own means.
enum class Paths { none, directories, files };

struct Completions {
  std::vector<Completion> words;
  Paths paths = Paths::none;
};

/// For the last one of `words`, which follow the program's name and may be empty text. A word that
/// begins nothing gives nothing; words before it that no command takes are passed over.
Completions completions(const CLI::App& app, const std::vector<std::string>& words);

/// "sim", "pytorch" of the help's "TEXT:{sim,pytorch}"; empty where there is no fixed set.
std::vector<std::string> fixed_values(const CLI::Option& option);

/// The parts of a value's description in the help, "UINT" and "INT in [0 - 10]".
std::vector<std::string> value_words(const CLI::Option& option);

}  // namespace hooke::cli
