// Memory of L-BFGS.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>

namespace sentencode::logistic {

at::Tensor inner_products(const at::Tensor& a, const at::Tensor& b);  // [p, K, D], [p, K, D] -> [p, 1, 1]

/// Steps s and changes of the gradient y, for every problem of a batch. Methods for problems [begin, end) may
/// be called by different threads.
class Memory {
 public:
  /// trusted: The preconditioner is a good inverse of the Hessian. Otherwise it is scaled according to the
  /// last step, which near the optimum would be worse, as it considers only one direction.
  explicit Memory(bool trusted) : trusted_(trusted) {}

  /// Stops trusting the preconditioner, because a step was too long.
  void doubt() { trusted_ = false; }

  /// Allocates another step of all problems, with weights of the size of `w`.
  void push(const at::Tensor& w);
  void fill(std::int64_t begin, std::int64_t end, const at::Tensor& step, const at::Tensor& change);
  void keep(const at::Tensor& which);
  /// -H g, where H is the approximate inverse of the Hessian; `inverse` is its initial value.
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
