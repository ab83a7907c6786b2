// Graphs in the text form, and the Keras source that is written for each: tests/formats/keras/*.graph beside *.py.
#include "formats/keras/write/source.h"
#include "graph/text.h"
#include "support/files.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace convoy::keras::source_test {
namespace {

const std::filesystem::path here = "tests/formats/keras";

Result<std::string> source_of(const std::filesystem::path& file) {
  auto graph = parse_graph(content_of(file));
  if (!graph) return pass(graph);
  graph->name = file.stem().string();
  const auto document = document_of(*graph);
  if (!document) return std::unexpected(document.error());
  const std::string name = graph->name;
  return write_source(*document, *graph, {name + ".keras", name, name + ".weights.h5", name + ".check.npz", "0123"});
}

// CONVOY_UPDATE=1 writes the expected text anew; look at the difference before keeping it. What Keras makes of such text is
// asked in tests/oracle/test_keras_source.py, and tests/ports reads it back.
TEST(KerasSource, IsWhatTheFilesSay) {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(here)) {
    if (entry.path().extension() != ".graph") continue;
    SCOPED_TRACE(entry.path().string());
    const auto expected = std::filesystem::path(entry.path()).replace_extension(".py");
    const auto source = source_of(entry.path());
    ASSERT_TRUE(source) << message(source.error());
    if (std::getenv("CONVOY_UPDATE")) std::ofstream(expected, std::ios::binary) << *source;
    EXPECT_EQ(*source, content_of(expected));
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace convoy::keras::source_test
