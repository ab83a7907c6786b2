// The page of `convoy diff --html`, as text: what a browser makes of it is asked in tests/oracle/test_page.py.
#include "report/page.h"
#include "graph/text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace convoy::page_test {
namespace {

Graph model(const std::string& layer) {
  auto graph = parse_graph("input x float32[1,3,6,4]\ny = relu(x)\noutput y\n");
  EXPECT_TRUE(graph.has_value());
  if (!graph) return {};
  graph->nodes[0].layer = layer;
  return *std::move(graph);
}

Json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const auto from = page.find(begin), to = page.find("</script>", from);
  EXPECT_NE(from, std::string::npos);
  if (from == std::string::npos) return {};
  return Json::parse(page.substr(from + begin.size(), to - from - begin.size()), nullptr, false);
}

diagnose::Diagnosis one_difference(const std::string& layer) {
  diagnose::Diagnosis d;
  d.same = false;
  d.sizes = {"6x4"};
  d.layers.push_back({.a = layer, .b = layer, .r = 1e7, .limit = 16, .same = false});
  d.layers.back().map = {
      .rows = 1, .cols = 3, .full_rows = 1, .full_cols = 3, .of_channels = true, .cells = {0, 99, 255}};
  diagnose::Finding finding;
  finding.a = finding.b = layer;
  finding.cause = "pad_missing";
  finding.windows_a = {{.window = {3, 2, 1}, .in = 6, .placed = Placement{0, 3, 1}, .cut = {}}};
  d.findings.push_back(finding);
  return d;
}

TEST(Page, NamesFromFilesNeverBecomeMarkup) {
  const std::string name = "</script><script>alert(1)</script>&\"'";
  const std::string page = diff_page(one_difference(name), model(name), model(name), {name, "ONNX", name, "ONNX"});
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  const Json data = data_of(page);
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["findings"][0]["a"], name);
  EXPECT_EQ(data["a"]["layers"][1]["name"], name);
}

TEST(Page, HoldsTheMapTheWindowsAndWhatReadsWhat) {
  const Json data =
      data_of(diff_page(one_difference("act"), model("act"), model("other"), {"a.onnx", "ONNX", "b.onnx", "ONNX"}));
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["findings"][0]["row"], 0);
  EXPECT_EQ(data["rows"][0]["map"]["cells"], "AGP/");  // bytes 0, 99, 255
  EXPECT_EQ(data["rows"][0]["a"], 1);
  EXPECT_EQ(data["rows"][0]["b"], -1) << "b has no layer of that name";
  EXPECT_EQ(data["a"]["layers"][1]["reads"], Json::array({0}));
  EXPECT_TRUE(data["findings"][0]["drawing_a"].get<std::string>().starts_with("data:image/svg+xml;base64,"));
  EXPECT_EQ(data["findings"][0]["drawing_b"], "");
}

TEST(Page, IsTheSameForTheSameDiagnosis) {
  const DiffNames names{"a.onnx", "ONNX", "b.onnx", "ONNX"};
  EXPECT_EQ(diff_page(one_difference("act"), model("act"), model("act"), names),
            diff_page(one_difference("act"), model("act"), model("act"), names));
}

}  // namespace
}  // namespace convoy::page_test
