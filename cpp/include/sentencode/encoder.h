#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sentencode/dense.h"
#include "sentencode/error.h"
#include "sentencode/sentences.h"

namespace sentencode {

class WordVectors;

struct SaveOptions {
  enum class Vectors {
    embedded,
    referred_to,  // by path and fingerprint; requires mapped vectors
    omitted,      // the caller passes them when loading
  };
  Vectors vectors = Vectors::embedded;
  bool statistics = false;  // whatever is needed to continue fitting; may be large
};

struct LoadOptions {
  /// Vectors of an encoder that was saved without them; used instead of the file that it refers to.
  std::shared_ptr<const WordVectors> vectors;
  bool trust_vectors = false;  // open the vectors' file even outside of the encoder's folder
  bool verify = true;          // also read all vectors, to detect damage
};

/// Maps each sentence to an embedding, which does not depend on the other sentences of the batch, on the
/// batch size or on the number of threads (to a relative difference of 1e-6). Thread-safe.
class Encoder {
 public:
  virtual ~Encoder() = default;

  virtual std::string kind() const = 0;  // the class's name in a saved file: "SIF", "LAES", ...
  virtual std::int64_t dim() const = 0;

  /// Fills out [sentences.size(), dim()]. Sentences without known words get zeros.
  virtual void encode(const Sentences& sentences, MatrixView out) const = 0;

  /// Whether concurrent calls of encode are worthwhile: it uses no dense products, and is as fast for few
  /// sentences as for many.
  virtual bool side_by_side() const { return false; }

  virtual void save(const std::string& path) const = 0;

  Matrix encode(const Sentences& sentences) const {
    Matrix out(sentences.size(), dim());
    encode(sentences, MatrixView(out.data(), out.rows(), out.cols(), Eigen::OuterStride<>(out.cols())));
    return out;
  }

 protected:
  /// DivergedError unless all rows are finite. Zero times NaN or infinity is NaN, so one sum is enough.
  template <typename Rows>
  void check_finite(const Eigen::MatrixBase<Rows>& rows) const {
    ST_CHECK((rows.array() * 0.0F).sum() == 0, DivergedError, kind(),
             ": an embedding is not finite: weights or word vectors are damaged, or the training diverged");
  }
};

/// Loads a saved encoder of any class.
std::unique_ptr<Encoder> load_encoder(const std::string& path, const LoadOptions& options = {});

/// The kind, config and params of a saved encoder, as JSON. FormatError if the file is not one.
std::string encoder_config(const std::string& path);

/// Registers a loader for another kind of encoder.
using EncoderLoader = std::unique_ptr<Encoder> (*)(const std::string& path, const LoadOptions& options);
void register_encoder(const std::string& kind, EncoderLoader loader);

}  // namespace sentencode
