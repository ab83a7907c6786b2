// Kernels over rows of numbers, float32, compiled once per instruction set: functions of one number, two operands, windows.
#pragma once
#include "convoy/size.h"

namespace convoy::fast {

// y = f(x); a and b as said.
enum class Map : unsigned char {
  None,
  Clamp,  // between a and b; a NaN stays one
  Leaky,  // a * x where x is negative
  Affine,  // a * x + b
  Sigmoid,
  Tanh,
  Silu,  // x * sigmoid(x)
  HardSigmoid,  // a * x + b between 0 and 1
  HardSwish,  // x * (x / 6 + 1/2 between 0 and 1)
  Exp,
  Elu,  // a * (exp(x) - 1) where x is not positive
  GeluTanh,
  GeluErf,  // x * ((erf(x * (1 / a)) + 1) * b) * (1.5 - b), b 0.5 or 1: where the half stands decides what overflows
  Erf,
  Over  // x / a
};

struct MapCall {
  Map map = Map::None;
  float a = 0, b = 0;
};

enum class Pair : unsigned char { Add, Subtract, Multiply, Divide, Maximum, Minimum };

// Rows of `columns` numbers; a step of 0 reads the same row again.
struct PairCall {
  Pair pair = Pair::Add;
  const float *a = nullptr, *b = nullptr;
  float* y = nullptr;
  Size rows = 1, columns = 0, a_step = 0, b_step = 0, y_step = 0;
};

// Outputs side by side of a pool whose windows read as many cells: all channels of each.
struct PoolCall {
  const float* x = nullptr;
  const Size* cells = nullptr;  // of the first output, in numbers
  Size count = 0, channels = 0, outputs = 1;
  Size x_step = 0, y_step = 0;  // from one output to the next
  float* y = nullptr;
  bool is_average = false, passes_over_nan = false;
  float divisor = 1;
};

// Outputs side by side, each the sum of some cells of a line times weights, all channels of each; a lone cell is copied.
struct MixCall {
  const float* x = nullptr;
  const Size* starts = nullptr;  // of each output's cells, and where those of the last one end
  const Size* cells = nullptr;  // in numbers
  const float* weights = nullptr;
  Size outputs = 0, channels = 0, y_step = 0;
  float* y = nullptr;
};

enum class Cell : unsigned char { Lstm, GruReset, Gru, Simple };

// One step of one sample of a recurrent cell (ops/recurrent.h): what its gates are given by the input and by the state, each with
// its bias, and the state, which is replaced.
struct CellCall {
  Cell cell = Cell::Lstm;
  MapCall activation, gate;
  Size units = 0;
  const float *x = nullptr, *inner = nullptr;  // [gates][units]
  float *state = nullptr, *memory = nullptr;  // memory: an LSTM's c
  const float* peepholes = nullptr;  // [3][units]; null: none
  Size r = 0;  // which gate of a GRU resets, 0 or 1
  // Where GruReset puts the state that it resets; the product with that is then the candidate's part of `inner`. Null: the reset
  // gate is applied behind the product.
  float* reset = nullptr;
};

struct RowKernels {
  // y may be x.
  void (*map)(const MapCall& call, const float* x, float* y, Size count) = nullptr;
  void (*pair)(const PairCall& call) = nullptr;
  void (*pool)(const PoolCall& call) = nullptr;
  // y[columns] = sum of rows; sums of 64 rows are summed in turn.
  void (*sum)(const float* x, Size rows, Size step, Size columns, float* y) = nullptr;
  // y[columns] = sum of rows times weights; a lone row is copied.
  void (*mix)(const float* const* rows, const float* weights, Size count, Size columns, float* y) = nullptr;
  void (*mix_line)(const MixCall& call) = nullptr;
  // y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, of one row; null: 1 and 0. y may be x.
  void (*norm)(const float* x, float* y, Size count, const float* gamma, const float* beta, float epsilon) = nullptr;
  // y = exp(x - most) / sum of them, of one row
  void (*softmax)(const float* x, float* y, Size count) = nullptr;
  void (*cell)(const CellCall& call) = nullptr;
};

const RowKernels& row_kernels();
const RowKernels& row_kernels_of(int instruction_set);

}  // namespace convoy::fast
