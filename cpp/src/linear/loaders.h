#pragma once

#include <map>
#include <string>

#include "sentencode/encoder.h"

namespace sentencode {

/// Loaders of the linear encoders.
const std::map<std::string, EncoderLoader>& linear_loaders();

}  // namespace sentencode
