#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sentencode/vectors/read.h"

namespace sentencode {

inline constexpr std::int64_t kMaxDim = 1'000'000;  // of any file
inline constexpr std::size_t kMaxWord = 1 << 16;    // bytes of a word in a binary file

/// Whether this is the beginning of a fastText model (.bin, .ftz).
bool is_fasttext(std::string_view head);

/// Reads the vectors of such a model, with its subwords. `head`: The beginning of the file.
std::shared_ptr<const WordVectors> read_fasttext(ByteReader& input, std::string head,
                                                 const ReadOptions& options, ReadReport& report);

}  // namespace sentencode
