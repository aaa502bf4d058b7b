// hooke man: the page of one command, or those of all in a directory, as an installation has them.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/manual.h"
#include "scenarios/cli/output_file.h"

namespace hooke::cli {
namespace {

struct ManOptions {
  std::vector<std::string> words;
  std::string directory;
};

void write_all(const CLI::App& app, const std::string& directory) {
  for (const CLI::App* const command : with_all_below(app)) {
    OutputFile page("--directory", directory + "/" + page_name(*command) + ".1");
    page << manual_page(*command);
    page.finish();
  }
}

}  // namespace

void add_man(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ManOptions>();
  CLI::App* command = app.add_subcommand("man", "Print the manual page of a command");
  CLI::Option* const words = command->add_option(
      "command", options->words, "The command, such as bench store; hooke itself without one");
  command
      ->add_option("--directory", options->directory,
                   "Write the pages of all commands into this directory instead")
      ->check(CLI::ExistingDirectory)
      ->excludes(words);
  command->footer(
      "cmake --install puts the pages where man looks.\n"
      "Examples:\n"
      "  hooke man run | man -l -\n"
      "  hooke man --directory ~/.local/share/man/man1\n"
      "Exit codes: 0; 2 no such command or directory, or bad usage.");
  command->callback([options, &app, &exit_code] {
    if (options->directory.empty()) {
      std::cout << manual_page(command_named(app, options->words));
    } else {
      write_all(app, options->directory);
    }
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
