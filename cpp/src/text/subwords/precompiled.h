#pragma once

#include <utility>

#include "text/subwords/json_fields.h"
#include "text/subwords/normalizer.h"

namespace sentencode {

/// The normalizer Precompiled: sentencepiece's map from characters to text, as base64 in
/// "precompiled_charsmap". With it: how many times as long it can make a text.
std::pair<SubwordNormalizer, double> precompiled_normalizer(const JsonFields& fields);

}  // namespace sentencode
