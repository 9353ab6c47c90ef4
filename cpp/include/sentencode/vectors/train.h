#pragma once

#include <cstdint>

#include "sentencode/dense.h"
#include "sentencode/vectors/sparse.h"
#include "sentencode/vectors/svd.h"

namespace sentencode {

/// Pointwise mutual information of words and contexts where it is positive (Levy, Goldberg and Dagan 2015):
/// log(n_ij n / (n_i m_j)) - shift, with m_j the count of context j to the power of `smoothing`, scaled so
/// that the m_j sum to n. Counts are turned into it in place.
struct PmiOptions {
  double smoothing = 0.75;  // below 1, rare contexts are thought more frequent, so that chance says less
  double shift = 0;         // log k of word2vec's k negative samples
};
SparseMatrix positive_pmi(SparseMatrix counts, const PmiOptions& options = {});

struct EmbeddingOptions {
  std::int64_t dim = 300;
  PmiOptions pmi{};
  double exponent = 0;  // column j of the vectors is scaled by the j-th singular value to this power
  double length = 0.5;  // then each row's length is raised to this power: 1 leaves it, 0 makes it one
  SvdOptions svd{};
};

/// Word vectors [words, dim] from co-occurrence counts [words, words] in closed form: left singular vectors
/// of PMI.
Matrix embed(SparseMatrix counts, const EmbeddingOptions& options = {});

}  // namespace sentencode
