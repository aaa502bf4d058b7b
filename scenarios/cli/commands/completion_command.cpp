// hooke completion: the scripts ask hooke itself, by the hidden command complete-words, what can
// stand at the end of a command line. So they are the same for every version, and no list is kept
// twice.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "scenarios/cli/commands.h"
#include "scenarios/cli/completion.h"

namespace hooke::cli {
namespace {

// The words are put together again that bash has divided at "=" and ":" (COMP_WORDBREAKS); of a
// candidate bash takes only what follows the last such division.
constexpr const char* kBash = R"(# bash completion for hooke
_hooke() {
  local -a words=() lines=()
  local -i i
  local word before='' paths path
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
      before=${words[-1]}
      [[ $word == [=:]* ]] && before+=$word
      words[-1]+=$word
    else
      before=''
      words+=("$word")
    fi
  done
  words[0]=${words[0]/#\~/$HOME}
  mapfile -t lines < <("${words[0]}" complete-words "${words[@]}" 2>/dev/null)
  paths=${lines[0]-none}
  COMPREPLY=()
  for word in "${lines[@]:1}"; do
    word=${word%%$'\t'*}
    COMPREPLY+=("${word#"$before"}")
  done
  word=${words[-1]#"$before"}
  case $paths in
    files)
      compopt -o filenames 2>/dev/null
      while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$word") ;;
    directories)
      compopt -o filenames 2>/dev/null
      while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -d -- "$word") ;;
  esac
}
complete -F _hooke hooke
)";

constexpr const char* kZsh = R"(#compdef hooke
# zsh completion for hooke
_hooke() {
  local -a lines found shown
  local line word meaning
  local program=${(Q)words[1]}
  lines=("${(@f)$("${program/#\~/$HOME}" complete-words "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    word=${line%%$'\t'*}
    meaning=${line#*$'\t'}
    found+=("$word")
    shown+=("$word${meaning:+  -- $meaning}")
  done
  if (( $#found )); then
    compadd -l -d shown -a -- found
  fi
  if [[ $lines[1] != none && $PREFIX == --*=* ]]; then
    compset -P '--*='
  fi
  case $lines[1] in
    files) _files ;;
    directories) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _hooke ]]; then
  _hooke "$@"
else
  compdef _hooke hooke
fi
)";

constexpr const char* kFish = R"(# fish completion for hooke
function __hooke_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete-words $words 2>/dev/null
end
function __hooke_words
    set -l lines (__hooke_complete)
    printf '%s\n' $lines[2..-1]
end
function __hooke_paths_are
    set -l lines (__hooke_complete)
    test "$lines[1]" = $argv[1]
end
complete -c hooke -e
complete -c hooke -f -a '(__hooke_words)'
complete -c hooke -n '__hooke_paths_are files' -F
complete -c hooke -n '__hooke_paths_are directories' -f -a '(__fish_complete_directories (commandline -ct) "")'
)";

const char* script_for(const std::string& shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

const char* name_of(Paths paths) {
  switch (paths) {
    case Paths::none: return "none";
    case Paths::directories: return "directories";
    case Paths::files: return "files";
  }
  return "none";
}

/// A line that says which paths count as well; then a line per candidate, "word<TAB>meaning".
void print(const Completions& found) {
  std::cout << name_of(found.paths) << '\n';
  for (const Completion& each : found.words) {
    std::cout << each.word << '\t' << each.meaning << '\n';
  }
}

void add_complete_words(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("complete-words", "What can end this command line");
  command->group("");  // the scripts call it
  command->prefix_command();
  command->callback([command, &app, &exit_code] {
    std::vector<std::string> words = command->remaining();
    if (!words.empty()) words.erase(words.begin());  // the program
    print(completions(app, words));
    exit_code = kAllHeld;
  });
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print the script by which a shell completes command lines");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "cmake --install puts the scripts where the shells look. The scripts ask the hooke that is "
      "typed: hooke complete-words WORDS… prints \"files\", \"directories\" or \"none\", and then "
      "a line for each word that can end the command line WORDS.\n"
      "Examples:\n"
      "  source <(hooke completion bash)\n"
      "  hooke completion zsh > ~/.zfunc/_hooke\n"
      "  hooke completion fish > ~/.config/fish/completions/hooke.fish\n"
      "Exit codes: 0; 2 bad usage.");
  command->callback([shell, &exit_code] {
    std::cout << script_for(*shell);
    exit_code = kAllHeld;
  });
  add_complete_words(app, exit_code);
}

}  // namespace hooke::cli
