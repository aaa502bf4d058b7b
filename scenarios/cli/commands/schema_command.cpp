// hooke schema: the JSON Schema, for editors and validators.
#include <CLI/CLI.hpp>
#include <iostream>

#include "scenarios/cli/commands.h"
#include "scenarios/format/schema.h"

namespace hooke::cli {

void add_schema(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of scenario files");
  command->footer("Example: hooke schema > scenario.schema.json\nExit codes: 0.");
  command->callback([&exit_code] {
    std::cout << scenario::schema_text();
    exit_code = kAllHeld;
  });
}

}  // namespace hooke::cli
