#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/text/vocabulary.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

/// Probabilities of the words of a table, and of all words that were counted.
struct Frequencies {
  std::vector<double> probability;  // [vectors.rows()]; 0 for words without a count
  std::vector<double> counted;      // of all counted words, also those outside of the table

  /// For a table that is not cased, counts of "The" and "the" are added. For a cased table, a word without a
  /// count gets that of its lower-cased form.
  static Frequencies from_vocabulary(const WordVectors& vectors, const Vocabulary& counted);
  /// From the counts of the vectors; InvalidInput if they have none.
  static Frequencies from_counts(const WordVectors& vectors);
  /// Zipf-Mandelbrot: p(w) is proportional to 1 / (r + 2.7), where r = 1, 2, ... is the word's position in
  /// the table.
  static Frequencies zipf(const WordVectors& vectors);
};

/// SIF (Arora et al. 2017): a / (a + p(w)), which is 1 for words without a count.
std::vector<float> sif_weights(const Frequencies& frequencies, double a);

/// uSIF (Ethayarajh 2018): a / (a / 2 + p(w)), where a = (1 - alpha) / (alpha V / 2) for a vocabulary of size
/// V, and alpha is the fraction of words with p(w) > 1 - (1 - 1 / V)^n for sentences of mean length n. Words
/// without a count get the smallest p. If no word is that frequent, alpha is 1 / V, and all weights are
/// near 2.
std::vector<float> usif_weights(const Frequencies& frequencies, double sentence_length);

}  // namespace sentencode
