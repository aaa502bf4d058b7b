// Entry point of every test binary. While RC_PARAMS holds a reproduction string, RapidCheck lets
// every *other* property pass with 0 cases; a run that would report such a pass is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* parameters = std::getenv("RC_PARAMS");
  const bool reproducing =
      parameters != nullptr &&
      std::string_view(parameters).find("reproduce=") != std::string_view::npos;
  if (reproducing && testing::GTEST_FLAG(filter) == "*") {
    std::cerr
        << "RC_PARAMS asks for a reproduction: name the property with --gtest_filter, all others "
           "would pass with 0 cases\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
