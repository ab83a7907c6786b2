// What the rows of PyTorch's catalogue mean for each kind of name.
#include "formats/torch/catalogue/catalogue.h"
#include "formats/source.h"
#include "formats/torch/catalogue/catalogue.h"

#include <gtest/gtest.h>
#include <string>

namespace convoy::torch::catalogue_test {
namespace {

std::string words(std::string_view name) {
  const FunctionRow* row = row_of(functions(), name);
  return row ? std::string(row->parameters) : "not there";
}

std::string schema_of(std::string_view name, std::string_view overload) {
  for (const Schema& schema : schemas()) {
    if (schema.name != name || schema.overload != overload) continue;
    std::string all;
    for (const SchemaParameter& one : parameters_of(schema))
      all += std::string(one.by_name_only ? "*" : "") + std::string(one.name) + ":" + one.kind +
             (one.optional ? "?" : "") + (one.has_default ? "=" : "") + " ";
    return all;
  }
  return "not there";
}

TEST(TorchCatalogue, GivesEveryNameItsOwnArguments) {
  EXPECT_EQ(words("elu"), "input alpha inplace");
  EXPECT_EQ(words("ELU"), "alpha inplace");
  EXPECT_EQ(schema_of("elu", "default"), "input:T alpha:n= scale:n= input_scale:n= ");
  EXPECT_EQ(words("RReLU"), "lower upper inplace");
  EXPECT_EQ(words("rrelu"), "input lower upper training inplace");
  EXPECT_EQ(schema_of("rrelu", "default"), "input:T lower:n= upper:n= training:b= generator:d?= ");
  EXPECT_EQ(schema_of("gelu", "default"), "input:T *approximate:s= ");
  EXPECT_EQ(words("Softmin"), "dim");
  EXPECT_EQ(schema_of("softmin", "default"), "not there");
  EXPECT_EQ(words("_softmax"), "not there");
  EXPECT_EQ(schema_of("_softmax", "default"), "input:T dim:i half_to_float:b ");
  EXPECT_EQ(schema_of("_softmax", "int"), "not there");
}

TEST(TorchCatalogue, MakesARowForEachNumberOfAxes) {
  EXPECT_EQ(words("max_pool2d"), "input kernel_size stride padding dilation ceil_mode return_indices");
  EXPECT_EQ(words("MaxPool3d"), "kernel_size stride padding dilation return_indices ceil_mode");
  EXPECT_EQ(words("AvgPool1d"), "kernel_size stride padding ceil_mode count_include_pad");
  EXPECT_EQ(words("AvgPool3d"), "kernel_size stride padding ceil_mode count_include_pad divisor_override");
  EXPECT_EQ(catalogued_aten("_adaptive_avg_pool3d", "default")->name, "adaptive_avg_pool3d");
  EXPECT_EQ(catalogued_aten("_adaptive_avg_pool1d", "default"), nullptr);
  EXPECT_EQ(schema_of("max_unpool1d", "default"), "not there");
  EXPECT_EQ(schema_of("max_unpool2d", "default"), "input:T indices:T output_size:I ");
  EXPECT_EQ(schema_of("max_unpool3d", "default"), "input:T indices:T output_size:I stride:I padding:I ");
}

TEST(TorchCatalogue, TellsConvolutionsOfTheSameNameApart) {
  EXPECT_EQ(words("conv3d"), "input weight bias stride padding dilation groups");
  EXPECT_EQ(
      words("ConvTranspose1d"),
      "in_channels out_channels kernel_size stride padding output_padding groups bias dilation padding_mode device "
      "dtype");
  EXPECT_EQ(schema_of("conv2d", "padding"), "input:T weight:T bias:T?= stride:I= padding:s= dilation:I= groups:i= ");
  EXPECT_EQ(schema_of("conv_transpose1d", "input"), "not there");
  EXPECT_EQ(schema_of("conv_transpose1d", "default"), schema_of("conv_transpose3d", "input"));
  EXPECT_EQ(words("Unfold"), "kernel_size dilation padding stride");
  EXPECT_EQ(schema_of("unfold", "default"),
            "input:T dimension:i size:i step:i ");  // of a tensor: another than F.unfold
  EXPECT_EQ(catalogued_aten("col2im", "default")->name, "fold");
}

TEST(TorchCatalogue, OrdersNormsAsEachNameDoes) {
  EXPECT_EQ(words("batch_norm"), "input running_mean running_var weight bias training momentum eps");
  EXPECT_EQ(schema_of("batch_norm", "default"),
            "input:T weight:T? bias:T? running_mean:T? running_var:T? training:b momentum:f eps:f cudnn_enabled:b ");
  EXPECT_EQ(words("layer_norm"), "input normalized_shape weight bias eps");
  EXPECT_EQ(words("LocalResponseNorm"), "size alpha beta k");
  EXPECT_NE(catalogued_aten("_native_batch_norm_legit", "no_stats"), nullptr);
}

// The call of such a table scales its rows.
TEST(TorchCatalogue, RefusesATableThatItsCallChanges) {
  const auto read = [](const std::string& more) {
    LoadOptions options;
    options.seed = 3;
    options.shapes[""] = {Dim(2), Dim(5)};
    const auto graph = read_source_text("from torch import nn\nnet = nn.Embedding(7, 3" + more + ")\n", "net", options);
    return graph ? "read" : message(graph.error());
  };
  EXPECT_EQ(read(", padding_idx=0"), "read");
  EXPECT_NE(read(", max_norm=0.5").find("max_norm changes its weights"), std::string::npos);
}

TEST(TorchCatalogue, GivesProductsAndMaximaTheirNames) {
  EXPECT_EQ(words("einsum"), "not there");  // of torch, not of torch.nn.functional
  EXPECT_EQ(catalogued_function("einsum")->parameters, "equation tensors...");
  EXPECT_EQ(schema_of("einsum", "default"), "equation:s tensors:L *path:I?= ");
  EXPECT_EQ(catalogued_function("addmm")->parameters, "input mat1 mat2");
  EXPECT_EQ(catalogued_aten("bmm", "default")->name, "bmm");
  EXPECT_EQ(catalogued_aten("max_pool3d_with_indices", "default")->name, "max_pool3d");  // layers are named after it
}

TEST(TorchCatalogue, FindsTheRowOfAnOverload) {
  EXPECT_NE(catalogued_aten("clamp", "default"), catalogued_aten("clamp", "Tensor"));
  EXPECT_EQ(catalogued_aten("clamp", "of_another_kind"), nullptr);
  ASSERT_NE(catalogued_aten("relu", "out"), nullptr);  // one row reads them all
  EXPECT_EQ(catalogued_aten("_log_softmax", "default")->name, "log_softmax");
  EXPECT_EQ(catalogued_function("_log_softmax"), nullptr);
}

TEST(TorchCatalogue, KnowsWhatIsLeftOut) {
  const auto words = constructor_of("LeakyReLU");
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].otherwise, "0.01");
  EXPECT_EQ(words[1].otherwise, "False");
  EXPECT_EQ(default_number("softplus", "threshold"), 20);
  EXPECT_EQ(default_number("LeakyReLU", "negative_slope"), 0.01);
  EXPECT_EQ(default_in_row("gelu", "approximate"), "'none'");
  EXPECT_EQ(default_in_row("rrelu", "training"), "False");
  EXPECT_EQ(default_number("linear", "input"), std::nullopt);
}

TEST(TorchCatalogue, QuotesWordsThatAreLeftOut) {
  for (const Schema& schema : schemas())
    for (const SchemaParameter& one : parameters_of(schema)) {
      if (one.kind != 's' || one.otherwise.empty() || one.otherwise == "None") continue;
      EXPECT_TRUE(one.otherwise.starts_with('\'') && one.otherwise.ends_with('\'')) << schema.name << ' ' << one.name;
    }
}

// What one number becomes is written by a name, or by one of three formulas.
TEST(TorchCatalogue, SpellsEveryFunctionOfOneNumber) {
  const auto formula = [](Function f) {
    return f == Function::Negate || f == Function::GeluTanh || f == Function::SparsePlus ||
           f == Function::SparseSigmoid;
  };
  constexpr int negate = static_cast<int>(Function::Negate);  // a formula and a function
  for (int i = 0; i <= static_cast<int>(Function::Not); ++i)
    EXPECT_EQ(written_name(static_cast<Function>(i)).empty(), formula(static_cast<Function>(i)) && i != negate) << i;
  EXPECT_EQ(written_name(Function::Silu), "F.silu");
  EXPECT_EQ(written_name(Function::Tanh), "torch.tanh");
}

}  // namespace
}  // namespace convoy::torch::catalogue_test
