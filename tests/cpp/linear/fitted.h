// Autoencoders fitted to the sentences of an example.
#pragma once

#include "linear/example.h"
#include "sentencode/linear/fit_autoencoder.h"

namespace sentencode {

inline Autoencoder fit(const Example& example, const RaggedIds& sentences, Reading reading, std::int64_t p,
                       bool centred = false, bool keep_u = false, bool dual = false) {
  PrefixGram gram(reading, example.vectors()->dim(), 64);
  gram.add(sentences);
  if (!dual) gram.absorb(example.words());
  return fit_autoencoder(gram, example.words(), p, centred, keep_u);
}

inline double largest(const MatrixD& m) { return m.size() > 0 ? m.cwiseAbs().maxCoeff() : 0; }

}  // namespace sentencode
