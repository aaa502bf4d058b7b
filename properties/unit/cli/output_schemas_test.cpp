// What hooke prints for programs is what its schemas say: each command is run, and a second
// implementation of JSON Schema judges what it printed. A key that no schema has is refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace hooke::cli {
namespace {

using nlohmann::json;

/// What `hooke ARGUMENTS` prints, in the tree of the sources.
std::string printed(const std::string& arguments) {
  const std::string command = "cd '" + std::string(std::getenv("HOOKE_SOURCE_DIR")) + "' && '" +
                              std::getenv("HOOKE_BINARY_DIR") + "/hooke' " + arguments +
                              " 2>/dev/null";
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), size);
  }
  EXPECT_LE(WEXITSTATUS(pclose(pipe)), 1) << command;
  return out;
}

/// What does not fit in `document`; empty when all of it does.
std::string misfits(const std::string& schema_name, const json& document) {
  const json source = json::parse(printed("schema " + schema_name));
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(source), schema);
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  std::string out;
  if (valijson::Validator().validate(schema, adapter, &results)) return out;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& part : error.context) out += part;
    out += ": " + error.description + "\n";
  }
  return out;
}

void fits(const std::string& schema_name, const std::string& arguments) {
  SCOPED_TRACE(arguments);
  EXPECT_EQ(misfits(schema_name, json::parse(printed(arguments))), "");
}

const std::string kLostNode = "scenarios/docs/tutorials/lost-node.json";

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "hooke-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(OutputSchemas, fit_the_results_of_runs) {
  fits("run", "run --json " + kLostNode);
  fits("run", "run --json --once scenarios/library/smoke scenarios/library/known_issues");
}

TEST(OutputSchemas, refuse_a_key_that_is_not_documented) {
  json results = json::parse(printed("run --json " + kLostNode));
  results["results"][0]["violations"][0]["secret"] = 1;
  EXPECT_NE(misfits("run", results), "");
}

TEST(OutputSchemas, fit_what_a_hunt_has_seen) {
  const Directory work;
  const std::string results = work.file("results.json");
  fits("exploration", "explore --json --seeds 30 --first 250 --results " + results +
                          " --known-issues scenarios/library/known_issues");
  fits("exploration", "report --json " + results);
  fits("exploration",
       "sweep --json --words agent.kill --shard 0/40 scenarios/library/smoke/late-joiner.json");
}

TEST(OutputSchemas, fit_an_explanation_a_plan_and_the_lists) {
  fits("explain", "explain --json --moments 3 --futures 2 --worlds 2 " + kLostNode);
  fits("plan", "plan --json --nodes 8 --node-mtbf 90d");
  fits("list", "list all --json");
}

TEST(OutputSchemas, fit_each_line_of_a_trace_and_what_is_judged_by_it) {
  const Directory work;
  const std::string trace = work.file("trace.jsonl");
  printed("run --once --trace " + trace + " " + kLostNode);
  std::ifstream lines(trace);
  json events = json::array();
  for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
  ASSERT_GT(events.size(), 100U);
  for (const std::size_t i : {std::size_t{0}, events.size() / 2, events.size() - 1}) {
    EXPECT_EQ(misfits("trace", events[i]), "") << events[i];
  }
  fits("judge", "judge --json " + trace);
}

TEST(OutputSchemas, fit_the_figures_of_a_bench) {
  const Directory work;
  const std::string figures = work.file("figures.json");
  printed("bench rendezvous --nodes 2 --json " + figures);
  std::ifstream file(figures);
  EXPECT_EQ(misfits("bench-rendezvous", json::parse(file)), "");
}

/// `hooke ARGUMENTS`, which goes on until it is told to end; what it prints goes to `file`.
class Background {
 public:
  Background(const std::string& arguments, std::string file) : file_(std::move(file)) {
    const std::string command = std::string(std::getenv("HOOKE_BINARY_DIR")) + "/hooke " +
                                arguments + " >" + file_ + " 2>/dev/null & echo $!";
    FILE* const pipe = popen(command.c_str(), "r");
    EXPECT_EQ(std::fscanf(pipe, "%d", &pid_), 1);
    pclose(pipe);
  }
  ~Background() {
    if (pid_ > 0) kill(pid_, SIGTERM);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// The number at the end of its first line.
  [[nodiscard]] std::string port() const {
    for (int look = 0; look < 300; ++look, usleep(100'000)) {
      std::ifstream file(file_);
      std::string line;
      if (std::getline(file, line) && !file.eof()) return line.substr(line.rfind(' ') + 1);
    }
    ADD_FAILURE() << "no port in " << file_;
    return "0";
  }

 private:
  std::string file_;
  int pid_ = 0;
};

TEST(OutputSchemas, fit_the_figures_of_a_live_store) {
  const Directory work;
  const Background store("store --port 0", work.file("port"));
  const std::string figures = work.file("figures.json");
  printed("bench store --endpoint localhost:" + store.port() +
          " --connections 2 --operations set --operations get --seconds 0.1 --json " + figures);
  std::ifstream file(figures);
  EXPECT_EQ(misfits("bench-store", json::parse(file)), "");
}

TEST(OutputSchemas, fit_the_state_of_a_job_that_forms) {
  const Directory work;
  const std::string place = work.file("store");
  const std::string job = " --rdzv-conf store_type=file --rdzv-id job --rdzv-endpoint " + place;
  const Background agent("agent --nnodes 2 --rdzv-backend c10d" + job + " --no-python sleep 60",
                         work.file("log"));
  std::string told;
  for (int look = 0; look < 300 && told.find("gathering") == std::string::npos; ++look) {
    told = printed("state --json" + job);
    usleep(100'000);
  }
  ASSERT_NE(told.find("gathering"), std::string::npos) << told;
  EXPECT_EQ(misfits("state", json::parse(told)), "");
  json other = json::parse(told);
  other["secret"] = 1;
  EXPECT_NE(misfits("state", other), "");
}

TEST(OutputSchemas, fit_a_space_that_explore_reads_and_no_other) {
  const json space{
      {"version", 1}, {"variants", {"hardened"}}, {"nodes", {2, 3}}, {"words", {"net.*"}}};
  EXPECT_EQ(misfits("space", space), "");
  for (const auto& [key, value] : std::map<std::string, json>{
           {"nodes", {3}}, {"variants", json::array()}, {"colour", "red"}, {"version", 2}}) {
    json other = space;
    other[key] = value;
    EXPECT_NE(misfits("space", other), "") << key;
  }
}

}  // namespace
}  // namespace hooke::cli
