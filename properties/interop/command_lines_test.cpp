// Each command line of model/command_lines.md, played under torchrun and under hooke agent: what
// the page says of it is so.
#include <fstream>
#include <set>
#include <sstream>

#include "job.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

/// What two runs of one command line are compared by besides their ends, under the page's names.
const std::map<std::string, std::string> kParts{
    {"environment", "workers"}, {"files", "files"}, {"output", "shown"}};

std::string exit_codes(const json& did) {
  std::string out;
  for (const json& end : did["ends"]) {
    out += (out.empty() ? "" : " ") + (end.is_string() ? end.get<std::string>() : end.dump());
  }
  return out;
}

std::set<std::string> differences(const json& row) {
  const json& hooke = row["hooke_did"];
  std::set<std::string> out;
  for (const auto& [name, part] : kParts) {
    if (row["torchrun_did"][part] != hooke[part]) out.insert(name);
  }
  if (row["torchrun_did"]["ends"] != hooke["ends"]) out.insert("exit code " + exit_codes(hooke));
  return out;
}

/// "differs in exit code 2, files: why": what comes between.
std::set<std::string> differences_told(const std::string& cell) {
  constexpr std::string_view kBegin = "differs in ";
  std::set<std::string> out;
  if (!cell.starts_with(kBegin)) return out;
  std::istringstream names(cell.substr(kBegin.size(), cell.find(':') - kBegin.size()));
  for (std::string name; std::getline(names >> std::ws, name, ',');) out.insert(name);
  return out;
}

/// The parts that differ, and what each of the agents printed.
std::string described(const json& row) {
  std::string out;
  for (const auto& [name, part] : kParts) {
    if (row["torchrun_did"][part] == row["hooke_did"][part]) continue;
    out += name + "\n  torchrun: " + row["torchrun_did"][part].dump() +
           "\n  hooke: " + row["hooke_did"][part].dump() + "\n";
  }
  for (const char* const side : {"torchrun_did", "hooke_did"}) {
    out += std::string("output, ") + side + ":\n" + row[side]["output"].get<std::string>() + "\n";
  }
  return out;
}

/// Rows with a command line under the headings of this generation.
std::size_t rows_on(const fs::path& page, bool is_old) {
  std::ifstream in(page);
  std::size_t count = 0;
  bool of_old = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) of_old = line.find("1.13") != std::string::npos;
    const bool is_row = line.starts_with("| ") && line.find("`") != std::string::npos;
    count += is_row && of_old == is_old ? 1 : 0;
  }
  return count;
}

class CommandLines : public testing::TestWithParam<model::Variant> {};

TEST_P(CommandLines, do_under_hooke_what_the_page_says_of_them) {
  const std::string python = torch_python(GetParam());
  if (python.empty()) GTEST_SKIP() << "no interpreter has this PyTorch";
  const bool is_old = GetParam() == model::Variant::torch_1_13;
  run([&](Ports& ports, const fs::path& directory) {
    const fs::path page =
        script("").parent_path().parent_path().parent_path() / "model/command_lines.md";
    const fs::path out = directory / "played.json";
    Child player(ports, directory, "player",
                 {python, script("command_lines.py"), page, hooke_program(), directory / "rows",
                  out, is_old ? "1.13" : "2.13", "4"});
    ASSERT_EQ(player.end(600s), 0) << player.output();
    std::ifstream file(out);
    const json rows = json::parse(file);
    EXPECT_EQ(rows.size(), rows_on(page, is_old)) << "rows of one name are played once";
    EXPECT_GE(rows.size(), is_old ? 12U : 150U) << "the page has lost its tables";
    std::size_t same = 0;
    for (const json& row : rows) {
      SCOPED_TRACE(row["name"].get<std::string>() + ": " + row["command"].get<std::string>());
      const std::string cell = row["hooke"];
      EXPECT_EQ(exit_codes(row["torchrun_did"]), row["torchrun"].get<std::string>());
      EXPECT_EQ(differences(row), differences_told(cell)) << described(row);
      EXPECT_EQ(cell == "same", differences_told(cell).empty()) << "no words of the page: " << cell;
      same += differences(row).empty() ? 1 : 0;
    }
    std::printf("PyTorch %s: %zu command lines, %zu the same under both, %zu differ\n",
                is_old ? "1.13" : "2.13", rows.size(), same, rows.size() - same);
  });
}

INSTANTIATE_TEST_SUITE_P(Of, CommandLines,
                         testing::Values(model::Variant::torch_2_x, model::Variant::torch_1_13),
                         [](const auto& variant) {
                           return variant.param == model::Variant::torch_1_13 ? "torch_1_13"
                                                                              : "torch_2_x";
                         });

}  // namespace
}  // namespace hooke::interop
