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
    referred_to,  // only where they are and what they must be, which needs mapped vectors
    omitted,      // whoever loads the encoder has them
  };
  Vectors vectors = Vectors::embedded;
  bool statistics = false;  // what is needed to go on fitting; may be large
};

struct LoadOptions {
  /// The vectors of an encoder that was saved without, to be used from memory and not from where it says.
  std::shared_ptr<const WordVectors> vectors;
  bool trust_vectors = false;  // open whichever file it names for them, also outside of its own folder
  bool verify = true;          // read the rows of vectors as well, to see that nothing is damaged
};

/// Whatever the family: sentences in, one row each out. A sentence's row never depends on its batch mates, on
/// the batch's size or on the number of threads (to 1e-6 of its size). Safe from several threads at once.
class Encoder {
 public:
  virtual ~Encoder() = default;

  virtual std::string kind() const = 0;  // the class's name in a saved file: "SIF", "LAES", ...
  virtual std::int64_t dim() const = 0;

  /// Fills out [sentences.size(), dim()]. An empty sentence, or one with no known word, has a zero row.
  virtual void encode(const Sentences& sentences, MatrixView out) const = 0;

  /// Whether several calls of encode side by side take no more threads than one: it makes no dense products,
  /// and is as fast for few sentences as for many.
  virtual bool side_by_side() const { return false; }

  virtual void save(const std::string& path) const = 0;

  Matrix encode(const Sentences& sentences) const {
    Matrix out(sentences.size(), dim());
    encode(sentences, MatrixView(out.data(), out.rows(), out.cols(), Eigen::OuterStride<>(out.cols())));
    return out;
  }

 protected:
  /// DivergedError unless all rows are finite. Zero times NaN or infinity is NaN: one sum says whether any
  /// is.
  template <typename Rows>
  void check_finite(const Eigen::MatrixBase<Rows>& rows) const {
    ST_CHECK((rows.array() * 0.0F).sum() == 0, DivergedError, kind(),
             ": an embedding is not finite: weights or word vectors are damaged, or the training diverged");
  }
};

/// Any saved encoder, as the class that it was saved from.
std::unique_ptr<Encoder> load_encoder(const std::string& path, const LoadOptions& options = {});

/// What a saved encoder says of itself, as JSON: kind, config, params. FormatError when the file is none.
std::string encoder_config(const std::string& path);

/// For libraries that bring encoders of their own: how files of a kind are read.
using EncoderLoader = std::unique_ptr<Encoder> (*)(const std::string& path, const LoadOptions& options);
void register_encoder(const std::string& kind, EncoderLoader loader);

}  // namespace sentencode
