#include "containers/pickle.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

void convoy::fuzz::pickle(Bytes bytes) { answered(Pickle::parse(bytes)); }
