#include "sentencode/linear/autoencoder.h"

#include <algorithm>

#include "sentencode/error.h"

namespace sentencode {

Autoencoder Autoencoder::truncated(std::int64_t p) const {
  ST_CHECK(p >= 1 && p <= hidden(), InvalidInput, "hidden must be 1 to ", hidden(), ", got ", p);
  return {.a = a.topRows(p),
          .b = b.topLeftCorner(p, p),
          .u = u.topRows(std::min<std::int64_t>(p, u.rows())),
          .singular_values = singular_values.head(p),
          .centre = centre,
          .longest = longest,
          .rank = std::min(rank, p)};
}

Matrix Autoencoder::states(const Matrix& x) const {
  ST_CHECK(x.cols() == dim(), InvalidInput, "words must have ", dim(), " dimensions, got ", x.cols());
  const Recursion recursion(*this);
  Matrix h = recursion.inputs(centre.size() > 0 ? Matrix(x.rowwise() - centre.transpose()) : x);
  for (Eigen::Index t = 1; t < h.rows(); ++t)
    recursion.encode_step(h.middleRows(t - 1, 1), h.middleRows(t, 1));
  return h;
}

Matrix Autoencoder::decode(const Vector& h, std::int64_t l) const {
  ST_CHECK(h.size() == hidden(), InvalidInput, "a state has ", hidden(), " dimensions, got ", h.size());
  ST_CHECK(l >= 0, InvalidInput, "length must not be negative, got ", l);
  const Recursion recursion(*this);
  Matrix states = Matrix::Zero(l, hidden()), x = Matrix::Zero(l, dim());
  if (l > 0) states.row(l - 1) = h.transpose();
  for (Eigen::Index t = l - 1; t > 0; --t) {
    recursion.decode_step(states.middleRows(t, 1), states.middleRows(t - 1, 1));
  }
  recursion.add_words(1.0F, states, x);
  if (centre.size() > 0) x.rowwise() += centre.transpose();
  return x;
}

Matrix Recursion::inputs(const Matrix& x) const {
  Matrix out(x.rows(), p_);
  gemm(Op::none, Op::transpose, 1.0F, x, m_.a.topRows(p_), 0.0F, out);
  return out;
}

void Recursion::encode_step(const ConstRef<float>& before, MutableRef<float> h) const {
  gemm(Op::none, Op::transpose, 1.0F, before, m_.b.topLeftCorner(p_, p_), 1.0F, h);
}

void Recursion::decode_step(const ConstRef<float>& after, MutableRef<float> h) const {
  gemm(Op::none, Op::none, 1.0F, after, m_.b.topLeftCorner(p_, p_), 1.0F, h);
}

void Recursion::add_words(float factor, const ConstRef<float>& h, MutableRef<float> x) const {
  gemm(Op::none, Op::none, factor, h, m_.a.topRows(p_), 1.0F, x);
}

}  // namespace sentencode
