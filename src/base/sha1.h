// SHA-1 (FIPS 180-4), for checksums that other people's files carry. It guards against mishaps, not against malice.
#pragma once
#include "base/bytes.h"

#include <string>

namespace convoy {

std::string sha1_hex(Bytes bytes);  // 40 lower-case digits

}  // namespace convoy
