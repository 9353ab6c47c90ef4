#pragma once

#include "sentencode/enum_names.h"

namespace sentencode {

/// Distance of two embeddings: |a - b| or 1 - cos(a, b).
enum class Distance { euclidean, cosine };
constexpr EnumNames<2> enum_names(Distance) { return {"distance", {"euclidean", "cosine"}}; }

}  // namespace sentencode
