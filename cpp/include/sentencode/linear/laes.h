#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/linear/autoencoder.h"
#include "sentencode/linear/batch_autoencoder.h"
#include "sentencode/linear/laes_options.h"
#include "sentencode/linear/linear_encoder.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/linear/selection.h"
#include "sentencode/turn.h"

namespace sentencode {

/// Sentence embeddings by the linear autoencoder for sequences, paper 004, section V. With l known words
/// x_1 ... x_l, each weighted, h = h_l and their reconstructions x~_i:
///
///   hidden           e = h                                    (6)   p numbers
///   reconstruction   e = 1/l sum_i x~_i                             n
///   residual         e = 1/l sum_i (x_i - x~_i)                     n
///   both, sum        e = (e_forward + e_backward) / 2         (7)
///   both, concat     e = [e_forward e_backward]               (8)   twice as many
///
/// Results of degenerate input: a sentence without a known word has a zero row; a residual of no more than
/// 1e-6 of the mean's norm (full rank) is zero; units beyond the rank are zero; sentences longer than any
/// that was fitted to are encoded whole, by the same recursion.
class Laes final : public LinearEncoder {
 public:
  using Mode = LaesOptions::Mode;
  using Direction = LaesOptions::Direction;
  using Combine = LaesOptions::Combine;
  using State = LaesOptions::State;

  Laes(WeightedWords words, const LaesOptions& options);

  using LinearEncoder::encode;
  std::string kind() const override { return "LAES"; }
  std::int64_t dim() const override;
  void encode(const Sentences& sentences, MatrixView out) const override;
  const LaesOptions& options() const { return options_; }
  std::vector<Reading> readings() const;  // its directions, forward first

  bool fitted() const override { return fitted_ptr() != nullptr; }
  /// In blocks of 65,536 sentences (of fewer where these may have more than 16 million words). Interrupted,
  /// it has learnt from whole blocks, in all directions, and from no part of another.
  void partial_fit(const Sentences& sentences) override;
  void merge(const Laes& other);
  void solve() override;
  /// The same by another's arithmetic: fit(gram) makes the parameters of a direction, of all that it knows.
  /// others: statistics of the same sentences that are kept beside it.
  void solve_by(const std::function<Autoencoder(const PrefixGram&)>& fit, std::int64_t others);

  /// The parameters of one direction; NotFitted, or InvalidInput when that direction is not part of this
  /// encoder.
  std::shared_ptr<const Autoencoder> autoencoder(Reading reading) const;

  /// The states after each known word of a sentence, in the order of reading [l, p].
  Matrix states(const Sentences& one, Reading reading) const;
  Matrix decode(const Vector& state, std::int64_t length, Reading reading) const {
    return autoencoder(reading)->decode(state, length);
  }

  /// |X - X~| / |X| over all words of some sentences, for every hidden size: eq. 1 and 2, forth and back.
  std::vector<double> reconstruction_error(const Sentences& sentences, std::span<const std::int64_t> hidden,
                                           Reading reading) const;

  /// The Pearson correlation with `gold` of the pairs' cosines, for every hidden size given: all from one
  /// decomposition. Of an encoder in both directions: curves "forward", "backward", "sum" and "concat".
  std::vector<Curve> select(const Sentences& first, const Sentences& second, std::span<const double> gold,
                            std::span<const std::int64_t> hidden) const;

  /// The same autoencoder with another number of hidden units, in another mode, one direction or another
  /// combination. Fewer units are the corners of A and B; more are solved for, from the statistics, which
  /// both share until one is fitted further.
  std::unique_ptr<Laes> variant(std::int64_t hidden, Mode mode, Direction direction, Combine combine) const;
  std::unique_ptr<Laes> resized(std::int64_t hidden, Direction direction, Combine combine) const {
    return variant(hidden, options_.mode, direction, combine);
  }

  /// The sums that parameters are made of, one for each direction, forward first; empty: loaded without.
  std::vector<PrefixGram::State> statistics() const;
  void set_statistics(std::vector<PrefixGram::State> states);
  bool solved() const;  // whether parameters know all that the statistics know
  std::int64_t sentences_seen() const;
  std::int64_t tokens_seen() const;

  static std::unique_ptr<Laes> load(const SavedModel& saved);

 private:
  using Grams = std::vector<PrefixGram>;         // one for each direction, forward first
  using Fitted = std::vector<BatchAutoencoder>;  // likewise

  std::size_t place_of(Reading reading) const;
  std::shared_ptr<const Fitted> fitted_ptr() const;
  std::shared_ptr<const Fitted> checked() const;
  Grams grams() const;
  void solve_beside(std::int64_t others);
  void replace(Grams grams);
  template <typename Which, typename Take>
  void absorb(const Which& which, const Take& take);
  void write(ModelContents& contents, const SaveOptions& options) const override;

  LaesOptions options_;
  Turn writing_;              // whose thread has it may change the statistics; others read them meanwhile
  mutable std::mutex mutex_;  // guards what follows; nothing is computed under it
  Grams statistics_;          // empty: loaded without
  std::uint64_t changes_ = 0, solved_ = 0;  // of the statistics, and up to which one the parameters know them
  std::shared_ptr<const Fitted> fitted_;
};

}  // namespace sentencode
