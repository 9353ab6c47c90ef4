#include "nn/rows.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace sentencode::nn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// torch's index_select would add up gradients, in case that positions were not distinct.
class Gather : public torch::autograd::Function<Gather> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& positions) {
    context->save_for_backward({positions});
    context->saved_data["count"] = x.size(0);
    return x.index_select(0, positions);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const Tensor positions = context->get_saved_variables()[0];
    return {scatter_rows(grads[0], positions, context->saved_data["count"].toInt()), {}};
  }
};

class Scatter : public torch::autograd::Function<Scatter> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& rows, const Tensor& positions,
                        std::int64_t count) {
    context->save_for_backward({positions});
    return at::zeros({count, rows.size(1)}, rows.options()).index_copy_(0, positions, rows);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    return {gather_rows(grads[0], context->get_saved_variables()[0]), {}, {}};
  }
};

}  // namespace

Tensor gather_rows(const Tensor& x, const Tensor& positions) { return Gather::apply(x, positions); }

Tensor scatter_rows(const Tensor& rows, const Tensor& positions, std::int64_t count) {
  return Scatter::apply(rows, positions, count);
}

}  // namespace sentencode::nn
