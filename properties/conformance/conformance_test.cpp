// Recorded decisions of real PyTorch, replayed case by case. The corpus is chosen by
// HOOKE_CONFORMANCE=FILE; without it every *.jsonl of the project's own copy (and of a shared
// corpus beside the checkout, when there is one) is run. Recorded by interop/recorded_decisions.py
// or likewise; a file's name ends in the release.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/conformance/replayed_case.h"

namespace hooke::model {
namespace {

using nlohmann::json;

std::vector<std::filesystem::path> corpora() {
  if (const char* file = std::getenv("HOOKE_CONFORMANCE")) return {file};
  const char* source = std::getenv("HOOKE_SOURCE_DIR");
  const std::filesystem::path root = source == nullptr ? "." : source;
  std::vector<std::filesystem::path> out;
  for (const auto& directory :
       {root / "properties/conformance/data", root / "../shared/conformance"}) {
    if (!std::filesystem::is_directory(directory)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".jsonl") out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// "rendezvous-ops-2.4.jsonl" was recorded from 2.4.
std::optional<Variant> release_of(const std::filesystem::path& path) {
  const std::string name = path.stem();
  return variant_from("torch" + name.substr(std::min(name.rfind('-'), name.size())));
}

TEST(Conformance, every_recorded_case_is_decided_as_pytorch_decided_it) {
  const std::vector<std::filesystem::path> files = corpora();
  ASSERT_FALSE(files.empty()) << "no corpus found";
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    ASSERT_TRUE(file) << path << " cannot be read";
    std::vector<json> cases;
    for (std::string line; std::getline(file, line);) {
      if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
      cases.push_back(json::parse(line));
    }
    const std::optional<Variant> release = release_of(path);
    ASSERT_TRUE(release) << path << ": expected a name that ends in a release, -2.4.jsonl, say";
    const Variant variant = *release;
    std::map<std::string, std::pair<int, int>> counts;
    for (const json& in : cases) {
      const std::string difference = difference_from_recorded(in, variant);
      auto& [total, different] = counts[in.at("kind").get<std::string>()];
      ++total;
      if (difference.empty()) continue;
      if (++different <= 5)
        ADD_FAILURE() << path.filename() << " " << in.at("id") << "\n" << difference;
    }
    EXPECT_GT(cases.size(), 0U) << path << " holds no case";
    for (const auto& [kind, count] : counts) {
      std::printf("%s: %s: %d cases as recorded, %d different\n", path.filename().c_str(),
                  kind.c_str(), count.first - count.second, count.second);
      EXPECT_EQ(count.second, 0);
    }
  }
}

}  // namespace
}  // namespace hooke::model
