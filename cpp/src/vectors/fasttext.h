#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sentencode/vectors/read.h"

namespace sentencode {

inline constexpr std::int64_t kMaxDim = 1'000'000;  // of vectors in any file
inline constexpr std::size_t kMaxWord = 1 << 16;    // bytes of a word in a binary one

/// Whether a file that begins so is a model as fastText saves it (.bin, .ftz).
bool is_fasttext(std::string_view head);

/// The vectors of such a model, with its subwords. `head`: what was read of the file already.
std::shared_ptr<const WordVectors> read_fasttext(ByteReader& input, std::string head,
                                                 const ReadOptions& options, ReadReport& report);

}  // namespace sentencode
