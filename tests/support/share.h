// Every how many-th case a test of all cases tries: whole runs in release; under the sanitizers, which are ten times slower, a
// seventh.
#pragma once

namespace convoy::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int share = 7;
#else
inline constexpr int share = 1;
#endif

}  // namespace convoy::test
