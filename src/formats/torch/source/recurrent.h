// nn.LSTM, nn.GRU and nn.RNN in a program.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

bool is_recurrent(const std::string& name);
// __init__ without the instance among `given`. Fails: a projection of the state.
Result<python::Value> make_recurrent(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                     python::Instance& self, python::Arguments& given);
// forward: (sequence, last state), the latter (h, c) for an LSTM.
Result<python::Value> run_recurrent(Tracer& tracer, python::Interpreter& in, const std::string& name,
                                    python::Instance& self, python::Arguments& given);

}  // namespace convoy::torch
