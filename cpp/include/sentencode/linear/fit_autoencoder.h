#pragma once

#include <cstdint>

#include "sentencode/linear/autoencoder.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// Computes the parameters for p hidden units from the smallest of three eigenproblems: C or, while all
/// sentences are waiting, K = Xi Xi^T, or C with fewer columns (see Reduction). Rows beyond the rank are
/// zero. InvalidInput if there are no words, or not enough memory, including that of `others` more
/// directions.
Autoencoder fit_autoencoder(const PrefixGram& gram, const WeightedWords& words, std::int64_t p, bool centred,
                            bool keep_u, std::int64_t others = 0);

/// The parameters for p hidden units and words [n] from at most p leading eigenpairs of C. sums_in_double: As
/// of PrefixGram; decides which eigenvalues are rounding errors.
Autoencoder autoencoder_of(Spectrum<double> c, std::int64_t n, std::int64_t p, bool sums_in_double,
                           bool keep_u);

}  // namespace sentencode
