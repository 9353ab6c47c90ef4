#pragma once

#include "text/subwords/json_fields.h"
#include "text/subwords/pre_tokenizer.h"

namespace sentencode {

/// The pre-tokenizer ByteLevel: splits as GPT-2 does, unless "use_regex" is false, and writes each byte as a
/// visible character. With "add_prefix_space", a piece begins with a space.
SubwordPreTokenizer byte_level_pre_tokenizer(const JsonFields& fields);

}  // namespace sentencode
