// schemas: what the catalogues state of other people's interfaces, for the tests that ask the frameworks; fields are separated by
// tabs. Without an argument the signatures of ATen's operators: a line each of name, overload, names of parameters and results;
// "*" is in front of what is given by name alone. With `tflite` the numbers of TFLite's files: a line each of the table that
// holds the number, the number and its name, and of an operator the kind and the fields of its options.
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/options.h"
#include "formats/tflite/types.h"
#include "formats/torch/catalogue/catalogue.h"

#include <iostream>
#include <string_view>

namespace {

void print_signatures_of_torch() {
  for (const convoy::torch::Schema& schema : convoy::torch::schemas()) {
    std::cout << schema.name << '\t' << schema.overload << '\t';
    for (const auto& one : parameters_of(schema)) std::cout << (one.by_name_only ? "*" : "") << one.name << ' ';
    std::cout << '\t' << schema.results << '\n';
  }
}

void print_words(std::string_view enumeration, std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i) std::cout << enumeration << '\t' << i << '\t' << words[i] << '\n';
}

void print_numbers_of_tflite() {
  using namespace convoy::tflite;
  for (const Operator& row : all_operators())
    std::cout << "operator\t" << row.code << '\t' << row.name << '\t' << row.options_kind << '\t' << row.options
              << '\n';
  for (const Operator& row : all_operators())
    if (const auto types = plain_types_of(row.name); !types.empty())
      std::cout << "takes\t" << row.code << '\t' << row.name << '\t' << types << '\n';
  constexpr std::pair<int, std::string_view> states[] = {
      {var_handle, "VAR_HANDLE"}, {read_variable, "READ_VARIABLE"}, {assign_variable, "ASSIGN_VARIABLE"}};
  for (const auto& [code, name] : states) std::cout << "operator\t" << code << '\t' << name << '\n';
  for (convoy::Size code = 0; code < 64; ++code)
    if (const auto dtype = dtype_of(code)) std::cout << "type\t" << code << '\t' << convoy::name_of(*dtype) << '\n';
  print_words("Padding", padding_words);
  print_words("ActivationFunctionType", activation_words);
  print_words("MirrorPadMode", mirror_words);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "tflite") print_numbers_of_tflite();
  else print_signatures_of_torch();
}
