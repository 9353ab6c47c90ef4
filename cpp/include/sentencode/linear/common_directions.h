#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sentencode/linear/linear_encoder.h"
#include "sentencode/linear/second_moment.h"
#include "sentencode/linear/selection.h"

namespace sentencode {

/// Sentence means e without what they have in common: e - sum_m f_m (e . c_m) c_m, where c_m is the m-th
/// right singular vector of the fitted sentences' means (not centred), kept with the model: so a sentence's
/// row does not depend on the others that are encoded with it. What SIF and uSIF share.
///
/// Results of degenerate input: a sentence without a known word has a zero row; a row of which no more than
/// 1e-6 of its norm is left (one sentence, or all alike) is zero; with more components than the data have
/// directions, the rest are zero and take nothing away.
class CommonDirections : public LinearEncoder {
 public:
  using LinearEncoder::encode;
  std::int64_t dim() const override { return words().dim(); }
  void encode(const Sentences& sentences, MatrixView out) const override;
  bool side_by_side() const override;

  bool fitted() const override { return fitted_ptr() != nullptr; }
  void partial_fit(const Sentences& sentences) override;
  void merge(const CommonDirections& other);
  void solve() override;

  std::int64_t components() const { return components_; }  // asked for
  Matrix directions() const;                               // [components, dim]; NotFitted
  Vector singular_values() const;                          // [components]
  Vector factors() const;                                  // f [components]
  std::optional<SecondMoment> statistics() const;          // none: loaded without
  void set_statistics(SecondMoment statistics);

  /// The Pearson correlation with `gold` of the pairs' cosines, for every number of components from 0 to the
  /// largest: all from one decomposition.
  Curve select(const Sentences& first, const Sentences& second, std::span<const double> gold,
               std::int64_t largest) const;

 protected:
  struct Fitted {
    Matrix directions;
    Vector singular_values;
    Vector factors;
  };
  CommonDirections(WeightedWords words, std::int64_t components);
  /// The means that directions are taken from.
  virtual void means(const Sentences& sentences, MatrixView out) const = 0;
  /// f of the leading m directions from all singular values.
  virtual Vector factors_of(const Vector& singular_values) const = 0;
  /// Another encoder's statistics, or what it made of them.
  void take_from(const CommonDirections& other);
  void write_fitted(ModelContents& contents, const SaveOptions& options) const;
  void read_fitted(const SavedModel& saved);

 private:
  std::shared_ptr<const Fitted> fitted_ptr() const;
  std::shared_ptr<const Fitted> checked() const;
  Fitted leading(const Spectrum<double>& spectrum, std::int64_t count) const;

  std::int64_t components_;
  mutable std::mutex mutex_;  // guards what follows; nothing is computed under it that can be interrupted
  std::optional<SecondMoment> statistics_;
  bool stale_ = false;                      // the statistics know more than the parameters
  std::uint64_t changes_ = 0, solved_ = 0;  // of the statistics, and up to which one the parameters know them
  std::shared_ptr<const Fitted> fitted_;
};

}  // namespace sentencode
