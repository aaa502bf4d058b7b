// hooke schema: JSON Schemas, for editors, validators, and programs that read what hooke prints.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/commands.h"
#include "scenarios/format/schema.h"

namespace hooke::cli {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> out{"scenario"};
  for (const scenario::OutputSchema& each : scenario::output_schemas()) out.emplace_back(each.name);
  return out;
}

std::string_view text_of(const std::string& name) {
  for (const scenario::OutputSchema& each : scenario::output_schemas()) {
    if (each.name == name) return each.text;
  }
  return scenario::schema_text();
}

}  // namespace

void add_schema(CLI::App& app, int& exit_code) {
  const auto name = std::make_shared<std::string>("scenario");
  CLI::App* command = app.add_subcommand(
      "schema", "Print the JSON Schema of scenario files, or of what a command prints with --json");
  command
      ->add_option("name", *name,
                   "scenario; the JSON of a command (exploration: of explore, sweep and report); "
                   "trace: a line of a trace file; space: what explore --space reads")
      ->type_name("SCHEMA")
      ->check(CLI::IsMember(names()))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  hooke schema > scenario.schema.json\n"
      "  hooke schema run\n"
      "Exit codes: 0; 2 no such schema.");
  command->callback([name, &exit_code] {
    std::cout << text_of(*name);
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
