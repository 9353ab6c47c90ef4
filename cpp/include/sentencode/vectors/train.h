#pragma once

#include <cstdint>

#include "sentencode/dense.h"
#include "sentencode/vectors/sparse.h"
#include "sentencode/vectors/svd.h"

namespace sentencode {

/// Positive pointwise mutual information of words and contexts (Levy, Goldberg and Dagan 2015), in place:
/// max(0, log(n_ij n / (n_i m_j)) - shift), where m_j is the count of context j to the power of `smoothing`,
/// scaled so that the m_j sum to n.
struct PmiOptions {
  double smoothing = 0.75;  // below 1, the PMI of rare contexts is lower
  double shift = 0;         // log k of word2vec's k negative samples
};
SparseMatrix positive_pmi(SparseMatrix counts, const PmiOptions& options = {});

struct EmbeddingOptions {
  std::int64_t dim = 300;
  PmiOptions pmi{};
  double exponent = 0;  // column j of the vectors is scaled by the j-th singular value to this power
  double length = 0.5;  // then each row's length is raised to this power: 1 keeps it, 0 normalises
  SvdOptions svd{};
};

/// Word vectors [words, dim] from co-occurrence counts [words, words]: left singular vectors of the PPMI
/// matrix.
Matrix embed(SparseMatrix counts, const EmbeddingOptions& options = {});

}  // namespace sentencode
