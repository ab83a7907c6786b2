#include "graph/path.h"

#include <gtest/gtest.h>

namespace convoy::path_test {
namespace {

Node standing(std::vector<Scope> scopes, std::string layer) {
  return {Identity{}, {}, {}, std::move(layer), "", std::move(scopes)};
}

TEST(Path, GoesFromTheOutermostModuleInwards) {
  EXPECT_EQ(path_of(standing({}, "conv")), "conv");
  EXPECT_EQ(path_of(standing({{"backbone"}, {"stem"}}, "conv")), "backbone/stem/conv");
  EXPECT_EQ(path_of(standing({{"stage"}}, "stage_conv")), "stage/stage_conv");
}

TEST(Path, AWholePathIsSaidOnce) {
  EXPECT_EQ(path_of(standing({{"layer1"}, {"layer1.0"}}, "layer1.0.conv1")), "layer1.0.conv1");
  EXPECT_EQ(path_of(standing({{"layer1"}}, "layer1.0")), "layer1.0");
  EXPECT_EQ(path_of(standing({{"net"}, {"layer1"}}, "layer1.0")), "net/layer1.0");
}

}  // namespace
}  // namespace convoy::path_test
