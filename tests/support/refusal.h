// What a call says that it refuses, for tests.
#pragma once
#include "convoy/result.h"

#include <string>

namespace convoy {

// The message of a failure; empty where there is none, which no message is.
template <class T>
std::string refusal(const Result<T>& done) {
  return done ? std::string() : message(done.error());
}

}  // namespace convoy
