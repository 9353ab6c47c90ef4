#pragma once

#include <cstdint>

#include "sentencode/linear/autoencoder.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

/// Solves for p hidden units, by the smallest of three problems: C; as long as all sentences wait, K = Xi
/// Xi^T, or C in fewer columns (see Cut). p may exceed the rank: then the remaining rows are zero.
/// InvalidInput when no word was seen, or when the memory does not suffice, also for the sums and the results
/// of as many `others`.
Autoencoder fit_autoencoder(const PrefixGram& gram, const WeightedWords& words, std::int64_t p, bool centred,
                            bool keep_u, std::int64_t others = 0);

/// The parameters for p hidden units, of words [n], from C's leading eigenpairs, at most p. sums_in_double:
/// as PrefixGram's, which says how small an eigenvalue may be.
Autoencoder autoencoder_of(Spectrum<double> c, std::int64_t n, std::int64_t p, bool sums_in_double,
                           bool keep_u);

}  // namespace sentencode
