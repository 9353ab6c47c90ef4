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

/// Sentence means e without their common directions: e - sum_m f_m (e . c_m) c_m, where c_m is the m-th right
/// singular vector of the means of the sentences of fit (not centred). Directions are part of the model, so
/// that an embedding does not depend on the other sentences of its batch. Base class of SIF and uSIF.
///
/// Degenerate input: sentences without known words get zeros, as do those of which less than 1e-6 of the norm
/// remains (one sentence, or all equal); components beyond the rank of the data are zero and remove nothing.
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

  std::int64_t components() const { return components_; }  // as configured
  Matrix directions() const;                               // [components, dim]; NotFitted
  Vector singular_values() const;                          // [components]
  Vector factors() const;                                  // f [components]
  std::optional<SecondMoment> statistics() const;          // nullopt: loaded without
  void set_statistics(SecondMoment statistics);

  /// Pearson correlation of the pairs' cosines with `gold`, for 0 to `largest` components, from one
  /// decomposition.
  Curve select(const Sentences& first, const Sentences& second, std::span<const double> gold,
               std::int64_t largest) const;

 protected:
  struct Fitted {
    Matrix directions;
    Vector singular_values;
    Vector factors;
  };
  CommonDirections(WeightedWords words, std::int64_t components);
  /// The sentence means before directions are removed.
  virtual void means(const Sentences& sentences, MatrixView out) const = 0;
  /// Whether another encoder of the class, with the same words, has the same means.
  virtual bool same_means(const CommonDirections&) const { return true; }
  /// Factors f of the leading m directions, from all singular values.
  virtual Vector factors_of(const Vector& singular_values) const = 0;
  /// Takes over the statistics and parameters of another encoder.
  void take_from(const CommonDirections& other);
  void write_fitted(ModelContents& contents, const SaveOptions& options) const;
  void read_fitted(const SavedModel& saved);

 private:
  std::shared_ptr<const Fitted> fitted_ptr() const;
  std::shared_ptr<const Fitted> checked() const;
  Fitted leading(const Spectrum<double>& spectrum, std::int64_t count) const;

  std::int64_t components_;
  mutable std::mutex mutex_;  // guards the members below; no interruptible computation under it
  std::optional<SecondMoment> statistics_;
  bool stale_ = false;                      // statistics have changed since the parameters were computed
  std::uint64_t changes_ = 0, solved_ = 0;  // versions of the statistics, and of those of the parameters
  std::shared_ptr<const Fitted> fitted_;
};

}  // namespace sentencode
