// What L-BFGS remembers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>

namespace sentencode::logistic {

at::Tensor inner_products(const at::Tensor& a, const at::Tensor& b);  // [p, K, D], [p, K, D] -> [p, 1, 1]

/// L-BFGS's memory of steps s and of the gradient's changes y, for every problem of a batch. Problems
/// [begin, end) are worked on by themselves, some by each thread.
class Memory {
 public:
  /// `trusted`: what directions begin with is the inverse of the Hessian, as near as it is known; elsewhere
  /// the last step tells by which factor it is off. Near the optimum that is a worse guess, of one direction.
  explicit Memory(bool trusted) : trusted_(trusted) {}

  /// A step was too long: it is not known well.
  void doubt() { trusted_ = false; }

  /// Room for another step of all problems, whose weights are as large as `w`.
  void push(const at::Tensor& w);
  void fill(std::int64_t begin, std::int64_t end, const at::Tensor& step, const at::Tensor& change);
  void keep(const at::Tensor& which);
  /// -H g, H the approximate inverse of the Hessian; `inverse` is what it begins with.
  at::Tensor direction(std::int64_t begin, std::int64_t end, const at::Tensor& g,
                       const std::function<at::Tensor(const at::Tensor&)>& inverse) const;

 private:
  struct Step {
    at::Tensor s, y, rho;  // [p, K, D], [p, K, D], [p, 1, 1]
    Step slice(std::int64_t begin, std::int64_t end) const {
      return {s.slice(0, begin, end), y.slice(0, begin, end), rho.slice(0, begin, end)};
    }
  };
  std::deque<Step> steps_;
  bool trusted_;
};

}  // namespace sentencode::logistic
