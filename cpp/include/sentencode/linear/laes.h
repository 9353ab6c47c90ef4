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
///   hidden           e = h                                    (6)   p dimensions
///   reconstruction   e = 1/l sum_i x~_i                             n
///   residual         e = 1/l sum_i (x_i - x~_i)                     n
///   both, sum        e = (e_forward + e_backward) / 2         (7)
///   both, concat     e = [e_forward e_backward]               (8)   twice as many
///
/// Degenerate input: sentences without known words get zeros; a residual below 1e-6 of the mean's norm (full
/// rank) is zero; units beyond the rank are zero. Sentences longer than those of fit are encoded by the same
/// recursion.
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
  std::vector<Reading> readings() const;  // the directions, forward first

  bool fitted() const override { return fitted_ptr() != nullptr; }
  /// Adds blocks of 65,536 sentences (fewer if these may have more than 16 million words). If it is
  /// interrupted, whole blocks have been added, in all directions, and no part of the next one.
  void partial_fit(const Sentences& sentences) override;
  void merge(const Laes& other);
  void solve() override;
  /// Computes parameters by fit(gram) for each direction. others: Number of statistics of the same size in
  /// memory.
  void solve_by(const std::function<Autoencoder(const PrefixGram&)>& fit, std::int64_t others);

  /// The parameters of a direction; NotFitted, or InvalidInput if this encoder does not have that direction.
  std::shared_ptr<const Autoencoder> autoencoder(Reading reading) const;

  /// States after each known word of a sentence, in reading order [l, p].
  Matrix states(const Sentences& one, Reading reading) const;
  Matrix decode(const Vector& state, std::int64_t length, Reading reading) const {
    return autoencoder(reading)->decode(state, length);
  }

  /// |X - X~| / |X| over all words of some sentences, for every hidden size; X~ by eq. 1 and 2.
  std::vector<double> reconstruction_error(const Sentences& sentences, std::span<const std::int64_t> hidden,
                                           Reading reading) const;

  /// Pearson correlation of the pairs' cosines with `gold`, for each of these hidden sizes, from one
  /// decomposition. With both directions: curves "forward", "backward", "sum" and "concat".
  std::vector<Curve> select(const Sentences& first, const Sentences& second, std::span<const double> gold,
                            std::span<const std::int64_t> hidden) const;

  /// The same autoencoder with another number of hidden units, mode, direction or combination. More units are
  /// solved from the statistics, which both share until one of them is fitted further.
  std::unique_ptr<Laes> variant(std::int64_t hidden, Mode mode, Direction direction, Combine combine) const;
  std::unique_ptr<Laes> resized(std::int64_t hidden, Direction direction, Combine combine) const {
    return variant(hidden, options_.mode, direction, combine);
  }

  /// Statistics of each direction, forward first; empty: loaded without.
  std::vector<PrefixGram::State> statistics() const;
  void set_statistics(std::vector<PrefixGram::State> states);
  bool solved() const;  // whether the parameters are up to date
  std::int64_t sentences_seen() const;
  std::int64_t tokens_seen() const;

  static std::unique_ptr<Laes> load(const SavedModel& saved);

 private:
  using Grams = std::vector<PrefixGram>;         // one for each direction, forward first
  using Fitted = std::vector<BatchAutoencoder>;  // likewise

  std::size_t index_of(Reading reading) const;
  std::shared_ptr<const Fitted> fitted_ptr() const;
  std::shared_ptr<const Fitted> checked() const;
  Grams grams() const;
  void solve_with(std::int64_t others);
  void replace(Grams grams);
  template <typename Which, typename Add>
  void absorb(const Which& which, const Add& add);
  void write(ModelContents& contents, const SaveOptions& options) const override;

  LaesOptions options_;
  Turn writing_;              // required to change the statistics; others may read them meanwhile
  mutable std::mutex mutex_;  // guards the members below; nothing is computed under it
  Grams statistics_;          // empty: loaded without
  std::uint64_t changes_ = 0, solved_ = 0;  // versions of the statistics, and of those of the parameters
  std::shared_ptr<const Fitted> fitted_;
};

}  // namespace sentencode
