// ONNX files as they come, and as somebody who means harm would send them. The models are those of the corpus.
#include "base/mapped_file.h"
#include "formats/onnx/onnx.h"
#include "run/run.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace convoy::read_test {
namespace {

const std::string corpus = "tests/data/corpus/onnx/";

std::vector<std::byte> bytes_of_model(const std::string& name) {
  const auto file = open_file(corpus + name + "/model.onnx");
  EXPECT_TRUE(file) << name;
  if (!file) return {};
  const Bytes bytes = (*file)->bytes();
  return {bytes.begin(), bytes.end()};
}

Result<Graph> read(std::vector<std::byte> bytes, const std::string& name) {
  const auto file = file_of(std::move(bytes));
  return onnx::read_model(blob_of(file), corpus + name, {});
}

// Messages by hand: a number, and a run of bytes, under a field number below 16.
std::string number(int field, int value) { return {static_cast<char>(field << 3), static_cast<char>(value)}; }
std::string run(int field, const std::string& bytes) {
  std::string text{static_cast<char>(field << 3 | 2)};
  std::size_t length = bytes.size();
  for (; length >= 128; length >>= 7) text += static_cast<char>(length % 128 + 128);
  return text + static_cast<char>(length) + bytes;
}

// An If of a truth that is known, whose branches hold a `w` each, the second one also a Constant.
std::vector<std::byte> branching_model() {
  const std::string kind_of_graph = "\xa0\x01\x05", kind_of_tensor = "\xa0\x01\x04";
  const std::string shape = run(2, run(1, number(1, 1) + run(2, run(1, number(1, 1)))));
  const auto value = [&](const std::string& name) { return run(1, name) + shape; };
  const auto tensor = [](const std::string& name, const std::string& four) {
    return number(1, 1) + number(2, 1) + run(8, name) + run(9, four);
  };
  const std::string one("\0\0\x80\x3f", 4), two("\0\0\0\x40", 4);
  const auto branch = [&](const std::string& name, const std::string& nodes, const std::string& number_of_w,
                          const std::string& out) {
    return run(5, run(1, name) + run(6, nodes + run(2, name) + run(5, tensor("w", number_of_w)) + run(12, value(out))) +
                      kind_of_graph);
  };
  const std::string then = run(1, run(1, "x") + run(1, "w") + run(2, "t") + run(4, "Add"));
  const std::string held =
      run(1, run(2, "c") + run(4, "Constant") + run(5, run(1, "value") + run(5, tensor("c", two)) + kind_of_tensor));
  const std::string other = held + run(1, run(1, "x") + run(1, "w") + run(2, "v") + run(4, "Mul")) +
                            run(1, run(1, "v") + run(1, "c") + run(2, "e") + run(4, "Add"));
  const std::string choice = run(1, run(1, "is") + run(2, "y") + run(3, "pick") + run(4, "If") +
                                        branch("then_branch", then, one, "t") + branch("else_branch", other, two, "e"));
  const std::string truth = number(2, 9) + run(8, "is") + run(9, std::string(1, '\0'));
  const std::string graph = choice + run(2, "g") + run(5, truth) + run(11, value("x")) + run(12, value("y"));
  const std::string model = number(1, 8) + run(7, graph) + run(8, number(2, 17));
  const Bytes bytes = bytes_of(model);
  return {bytes.begin(), bytes.end()};
}

// y = x + w, where the three numbers of w lie at `offset` of `location`.
std::vector<std::byte> external_model(const std::string& location, const std::string& offset = "0",
                                      const std::string& more = "") {
  const std::string shape = run(2, run(1, number(1, 1) + run(2, run(1, number(1, 3)))));
  const auto entry = [](const std::string& key, const std::string& value) {
    return run(13, run(1, key) + run(2, value));
  };
  const std::string w = number(1, 3) + number(2, 1) + run(8, "w") + entry("location", location) +
                        entry("offset", offset) + more + number(14, 1);
  const std::string graph = run(1, run(1, "x") + run(1, "w") + run(2, "y") + run(4, "Add")) + run(2, "sum") +
                            run(5, w) + run(11, run(1, "x") + shape) + run(12, run(1, "y") + shape);
  const std::string model = number(1, 8) + run(7, graph) + run(8, number(2, 17));
  const Bytes bytes = bytes_of(model);
  return {bytes.begin(), bytes.end()};
}

// A folder with three numbers in w.bin, and a link to it.
class Folder {
 public:
  Folder() : path_(::testing::TempDir() + "convoy_onnx_external_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_ + "/inner");
    const std::vector<float> w{1, 2, 3};
    std::ofstream(path_ + "/w.bin", std::ios::binary).write(reinterpret_cast<const char*>(w.data()), 12);
    std::filesystem::create_symlink(path_ + "/w.bin", path_ + "/link.bin");
    std::filesystem::create_directory_symlink(path_, path_ + "/inner/out");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Result<Graph> read(std::vector<std::byte> bytes) const {
    const auto file = file_of(std::move(bytes));
    return onnx::read_model(blob_of(file), path_, {});
  }

 private:
  std::string path_;
};

std::string sentence(const Result<Graph>& graph) { return graph ? "" : message(graph.error()); }

TEST(OnnxFile, ShapeArithmeticLeavesPlainOperators) {
  const auto graph = read(bytes_of_model("constant_nodes"), "constant_nodes");
  ASSERT_TRUE(graph) << sentence(graph);
  for (const Node& node : graph->nodes) EXPECT_NE(node.kind, "Shape");
  EXPECT_TRUE(check(*graph)) << message(check(*graph).error());
}

// The model's then_branch reads a name that nobody gives; the other branch does not.
TEST(OnnxFile, AnIfWithAKnownConditionIsItsBranch) {
  const auto graph = read(bytes_of_model("if_constant"), "if_constant");
  EXPECT_NE(sentence(graph).find("node 't' (Conv, opset 13): reads 'w', which no node before it gives"),
            std::string::npos)
      << sentence(graph);
}

TEST(OnnxFile, AValueOfAnotherTypeThanTheFileTellsIsRefused) {
  const auto negated = [](int type) {
    const auto value = [](const std::string& name, int of) {
      return run(1, name) + run(2, run(1, number(1, of) + run(2, run(1, number(1, 3)))));
    };
    const std::string nodes =
        run(1, run(1, "x") + run(2, "n") + run(4, "Neg")) + run(1, run(1, "n") + run(2, "y") + run(4, "Abs"));
    const std::string graph =
        nodes + run(2, "g") + run(11, value("x", 1)) + run(12, value("y", 1)) + run(13, value("n", type));
    const std::string model = number(1, 8) + run(7, graph) + run(8, number(2, 17));
    const Bytes bytes = bytes_of(model);
    return read({bytes.begin(), bytes.end()}, "negated");
  };
  EXPECT_TRUE(negated(1)) << sentence(negated(1));
  EXPECT_NE(sentence(negated(7)).find("value 'n': gives int64 [3] as the file tells"), std::string::npos)
      << sentence(negated(7));
}

TEST(OnnxFile, ListsTheTensorsThatLieInBranches) {
  const auto graph = read(branching_model(), "none");
  ASSERT_TRUE(graph) << sentence(graph);
  const auto values = run(*graph, {Tensor::of({1}, std::vector<float>{5})});
  ASSERT_TRUE(values) << message(values.error());
  EXPECT_EQ(values->at(graph->outputs[0]).doubles(), std::vector<double>{12});  // 5 * 2 + 2
  const auto all = onnx::weights_of_model(blob_of(file_of(branching_model())), "none");
  ASSERT_TRUE(all) << message(all.error());
  std::string found;
  for (const LoadedTensor& one : *all)
    found += one.name + "=" + std::to_string(one.tensor.doubles()[0]).substr(0, 1) + " ";
  EXPECT_EQ(found, "is=0 w=1 pick/else_branch/w=2 c=2 ");
}

// y = Det(x): four numbers to one.
std::vector<std::byte> model_of(const std::string& operator_name) {
  const std::string shape = run(2, run(1, number(1, 1) + run(2, run(1, number(1, 2)) + run(1, number(1, 2)))));
  const std::string graph = run(1, run(1, "x") + run(2, "y") + run(3, "n") + run(4, operator_name)) + run(2, "g") +
                            run(11, run(1, "x") + shape) + run(12, run(1, "y") + shape);
  const std::string model = number(1, 8) + run(7, graph) + run(8, number(2, 17));
  const Bytes bytes = bytes_of(model);
  return {bytes.begin(), bytes.end()};
}

TEST(OnnxFile, WhatIsNotUnderstoodIsRefusedByNodeOperatorAndOpset) {
  EXPECT_NE(sentence(read(model_of("Multinomial"), "none")).find("'n' (Multinomial, opset 17): is an operator"),
            std::string::npos);
}

// y = x + w of one number each; `more` stands in the graph.
std::vector<std::byte> sum_model(int ir_version, const std::string& more) {
  const std::string shape = run(2, run(1, number(1, 1) + run(2, run(1, number(1, 1)))));
  const std::string graph = run(1, run(1, "x") + run(1, "w") + run(2, "y") + run(4, "Add")) + run(2, "sum") + more +
                            run(11, run(1, "x") + shape) + run(11, run(1, "w") + shape) + run(12, run(1, "y") + shape);
  const std::string model = number(1, ir_version) + run(7, graph) + run(8, number(2, 17));
  const Bytes bytes = bytes_of(model);
  return {bytes.begin(), bytes.end()};
}

TEST(OnnxFile, AnInputThatHasADefaultIsTold) {
  const std::string w = run(5, number(1, 1) + number(2, 1) + run(8, "w") + run(9, std::string("\0\0\x80\x3f", 4)));
  const auto remarks_on = [&](std::vector<std::byte> bytes) {
    std::vector<std::string> remarks;
    const auto file = file_of(std::move(bytes));
    LoadOptions options;
    options.remarks = &remarks;
    const auto graph = onnx::read_model(blob_of(file), ".", options);
    EXPECT_TRUE(graph) << sentence(graph);
    return remarks;
  };
  EXPECT_EQ(remarks_on(sum_model(8, w)),
            std::vector<std::string>{"input 'w' has a default in the file, which is a constant here: nobody can give "
                                     "other numbers"});
  EXPECT_TRUE(remarks_on(sum_model(3, w)).empty()) << "every weight was an input then";
  EXPECT_TRUE(remarks_on(sum_model(8, "")).empty());
}

TEST(OnnxFile, SparseInitializersAreNotUnderstoodYet) {
  const auto file = file_of(sum_model(8, run(15, "")));
  const auto graph = onnx::read_model(blob_of(file), ".", {});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().fault, Fault::Unsupported);
  EXPECT_NE(sentence(graph).find("sparse tensors, which are not understood yet"), std::string::npos);
}

TEST(OnnxFile, ExternalDataIsReadBelowTheFolder) {
  const Folder folder;
  const auto graph = folder.read(external_model("w.bin"));
  ASSERT_TRUE(graph) << sentence(graph);
  const auto values = run(*graph, {Tensor::of({3}, std::vector<float>{10, 20, 30})});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at(graph->outputs[0]).floats(), (std::vector<float>{11, 22, 33}));
}

TEST(OnnxFile, ExternalDataStaysBelowTheFolderAndBehindNoLink) {
  const Folder folder;
  for (const char* location : {"../w.bin", "inner/../w.bin", "/dev/zero", "link.bin", "inner/out/w.bin", ""}) {
    const auto graph = folder.read(external_model(location));
    ASSERT_FALSE(graph) << location;
    EXPECT_EQ(graph.error().fault, Fault::UnsafePath) << sentence(graph);
  }
  for (const char* location : {"inner", "inner/", "missing.bin", "w.bin/x"}) {
    const auto graph = folder.read(external_model(location));
    ASSERT_FALSE(graph) << location;
    EXPECT_NE(graph.error().fault, Fault::Internal) << sentence(graph);
  }
}

TEST(OnnxFile, ExternalDataEndsWithItsFile) {
  const Folder folder;
  EXPECT_EQ(sentence(folder.read(external_model("w.bin", "4"))),
            "initializer 'w': 8 bytes, expected 12 for float32 of shape [3]");
  for (const char* offset : {"13", "9223372036854775807", "-1", "x", ""})
    EXPECT_FALSE(folder.read(external_model("w.bin", offset))) << offset;
}

TEST(OnnxFile, TheChecksumOfExternalDataCounts) {
  const Folder folder;
  const auto checksum = [](const std::string& sum) { return run(13, run(1, "checksum") + run(2, sum)); };
  EXPECT_TRUE(folder.read(external_model("w.bin", "0", checksum("d0951239f8a84d20d0b5ef1003165ee3b2c34eb5"))));
  EXPECT_FALSE(folder.read(external_model("w.bin", "0", checksum("0000000000000000000000000000000000000000"))));
}

TEST(OnnxFile, EveryTruncationIsAnAnswerNotACrash) {
  for (const std::string name : {"constant_nodes", "if_constant", "gru_onnx", "shared_initializer"}) {
    const auto whole = bytes_of_model(name);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto graph = read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}, name);
      if (!graph) { EXPECT_NE(graph.error().fault, Fault::Internal) << name << " " << length << sentence(graph); }
    }
  }
}

TEST(OnnxFile, EveryDamagedByteIsAnAnswerNotACrash) {
  for (const std::string name : {"constant_nodes", "if_constant", "gru_onnx", "split_concat_18", "old7_upsample"}) {
    const auto whole = bytes_of_model(name);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (const int change : {1, 0x80, 0xff}) {
        auto bytes = whole;
        bytes[at] ^= static_cast<std::byte>(change);
        const auto graph = read(std::move(bytes), name);
        if (!graph) { EXPECT_NE(graph.error().fault, Fault::Internal) << name << " " << at << " " << sentence(graph); }
      }
  }
}

}  // namespace
}  // namespace convoy::read_test
