#include "scenarios/cli/export_files.h"

namespace hooke::cli {

void add_exports(CLI::App& command, ExportPaths& paths) {
  command
      .add_option("--perfetto", paths.perfetto,
                  "Write one run for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  command
      .add_option("--shiviz", paths.shiviz,
                  "Write which event of one run came before which, for ShiViz")
      ->type_name("FILE");
  command
      .add_option("--sarif", paths.sarif,
                  "Write what fell as SARIF 2.1.0, for code hosts that show it beside the file")
      ->type_name("FILE");
}

}  // namespace hooke::cli
