#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/text/vocabulary.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

/// How probable words are: those of a table, and all that were counted.
struct Frequencies {
  std::vector<double>
      probability;  // [vectors.rows()]; 0 for what was never counted, as for rows of unknown words
  std::vector<double> counted;  // of every word that was counted, those that the table lacks included

  /// For a table that is not cased, counts of "The" and "the" are added up. For one that is, a word that was
  /// not counted as it stands takes its lower-cased form's count.
  static Frequencies from_vocabulary(const WordVectors& vectors, const Vocabulary& counted);
  /// The counts that the vectors carry themselves; InvalidInput when they carry none.
  static Frequencies from_counts(const WordVectors& vectors);
  /// Zipf and Mandelbrot: the word of rank r = 1, 2, ... has a probability proportional to 1 / (r + 2.7),
  /// ranks being the table's order.
  static Frequencies zipf(const WordVectors& vectors);
};

/// SIF (Arora et al. 2017): a / (a + p(w)); so 1 for words never counted.
std::vector<float> sif_weights(const Frequencies& frequencies, double a);

/// uSIF (Ethayarajh 2018): a / (a / 2 + p(w)), a from the vocabulary's size V and the mean length n of a
/// sentence: with alpha the share of words with p(w) > 1 - (1 - 1 / V)^n, a = (1 - alpha) / (alpha V / 2).
/// Words never counted take the smallest p that was. Where no word is so frequent, alpha counts one, and all
/// weights are near 2.
std::vector<float> usif_weights(const Frequencies& frequencies, double sentence_length);

}  // namespace sentencode
