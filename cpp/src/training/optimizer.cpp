#include "sentencode/training/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/error.h"

namespace sentencode::training {
namespace {

namespace optim = torch::optim;

/// What visit(name, tensor) is called with for all tensors of a parameter's state, and visit(name, number).
template <typename State, typename Visit>
void for_members(State& state, const Visit& visit) {
  using Plain = std::remove_const_t<State>;
  if constexpr (std::is_same_v<Plain, optim::SGDParamState>) {
    visit("momentum_buffer", state.momentum_buffer());
  } else if constexpr (std::is_same_v<Plain, optim::RMSpropParamState>) {
    visit("step", state.step());
    visit("square_avg", state.square_avg());
    visit("momentum_buffer", state.momentum_buffer());
  } else {
    static_assert(std::is_same_v<Plain, optim::AdagradParamState>);
    visit("step", state.step());
    visit("sum", state.sum());
  }
}

constexpr std::array<std::string_view, 5> kNames = {"adam", "adamw", "sgd", "rmsprop", "adagrad"};

/// body(type of the state) of LibTorch's optimiser of that name.
template <typename Body>
decltype(auto) with_state(std::string_view name, const Body& body) {
  using std::type_identity;
  if (name == "sgd") return body(type_identity<optim::SGDParamState>());
  if (name == "rmsprop") return body(type_identity<optim::RMSpropParamState>());
  return body(type_identity<optim::AdagradParamState>());
}

std::unique_ptr<optim::Optimizer> made(std::vector<at::Tensor> parameters, const OptimizerOptions& options) {
  const double rate = 1e-3;  // each step brings its own
  const double eps = options.epsilon, decay = options.weight_decay;
  if (options.name == "sgd") {
    return std::make_unique<optim::SGD>(
        std::move(parameters), optim::SGDOptions(rate).momentum(options.momentum).weight_decay(decay));
  }
  if (options.name == "rmsprop") {
    return std::make_unique<optim::RMSprop>(
        std::move(parameters),
        optim::RMSpropOptions(rate).momentum(options.momentum).eps(eps).weight_decay(decay));
  }
  return std::make_unique<optim::Adagrad>(std::move(parameters),
                                          optim::AdagradOptions(rate).eps(eps).weight_decay(decay));
}

/// The numbers of a gradient, to be changed in place: of a sparse one, those of its rows, each row once.
at::Tensor numbers_of(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (!gradient.is_sparse()) return gradient;
  if (!gradient.is_coalesced()) parameter.mutable_grad() = gradient.coalesce();
  return parameter.grad()._values();  // [k, D]
}

std::vector<at::Tensor> gradients_of(const NamedTensors& parameters) {
  std::vector<at::Tensor> found;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.grad().defined()) found.push_back(numbers_of(tensor));
  }
  return found;
}

/// Without momentum there is no state, so that one kernel can do what LibTorch's does, and skip it on the
/// device.
bool is_plain_sgd(const NamedTensors& all, const OptimizerOptions& options) {
  return options.name == "sgd" && options.momentum == 0 && std::ranges::all_of(all, [](const auto& item) {
           const at::Tensor& gradient = item.second.grad();
           return item.second.scalar_type() == at::kFloat && item.second.is_contiguous() &&
                  (!gradient.defined() || !gradient.is_sparse());
         });
}

void plain_sgd(const NamedTensors& all, const OptimizerOptions& options, double rate,
               const GradientScale& scale) {
  std::vector<at::Tensor> parameters, gradients;
  for (const auto& [name, tensor] : all) {
    if (!tensor.grad().defined()) continue;
    parameters.push_back(tensor);
    gradients.push_back(tensor.grad().contiguous());
  }
  if (parameters.empty()) return;
  std::optional<at::Tensor> divisor;
  if (scale.divisor.defined()) divisor = scale.divisor.to(at::kFloat);
  at::_ops::_fused_sgd_::call(parameters, gradients, {}, options.weight_decay, /*momentum=*/0, rate,
                              /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                              /*is_first_step=*/false, divisor, scale.skip);
}

}  // namespace

void OptimizerOptions::check() const {
  ST_CHECK(std::ranges::find(kNames, name) != kNames.end(), InvalidInput,
           "optimizer must be 'adam', 'adamw', 'sgd', 'rmsprop' or 'adagrad', got '", name, "'");
  ST_CHECK(beta1 >= 0 && beta1 < 1, InvalidInput, "beta1 must be at least 0 and below 1, got ", beta1);
  ST_CHECK(beta2 >= 0 && beta2 < 1, InvalidInput, "beta2 must be at least 0 and below 1, got ", beta2);
  ST_CHECK(momentum >= 0 && momentum < 1, InvalidInput, "momentum must be at least 0 and below 1, got ",
           momentum);
  ST_CHECK(momentum == 0 || name == "sgd" || name == "rmsprop", InvalidInput, "momentum: ", name,
           " has none");
  ST_CHECK(epsilon >= 0 && std::isfinite(epsilon), InvalidInput, "epsilon must not be negative, got ",
           epsilon);
  ST_CHECK(weight_decay >= 0 && std::isfinite(weight_decay), InvalidInput,
           "weight_decay must not be negative, got ", weight_decay);
  if (!sparse_rows) return;
  ST_CHECK(name != "rmsprop", InvalidInput,
           "sparse_rows: optimizer must be 'adam', 'adamw', 'sgd' or "
           "'adagrad', got 'rmsprop'");
  ST_CHECK(momentum == 0 && weight_decay == 0, InvalidInput,
           "sparse_rows: momentum and weight_decay must be 0, for they move rows that a step does not read; "
           "got ",
           momentum, " and ", weight_decay);
}

Optimizer::Optimizer(const NamedTensors& parameters, const OptimizerOptions& options) : options_(options) {
  options_.check();
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    parameters_.emplace_back(name, tensor);
    tensors.push_back(tensor);
  }
  ST_CHECK(!tensors.empty(), InvalidInput, "there is no parameter to train: none wants a gradient");
  if (is_adam()) {
    moments_.resize(parameters_.size());
  } else {
    optimizer_ = made(std::move(tensors), options_);
  }
}

Optimizer::~Optimizer() = default;

/// LibTorch's own step goes through all memory a dozen times; this goes once.
void Optimizer::adam(double rate, const GradientScale& scale) {
  struct Lists {
    std::vector<at::Tensor> parameters, gradients, means, squares, steps;
  };
  std::map<at::ScalarType, Lists> lists;  // a GPU takes tensors of one type
  struct Copy {
    at::Tensor to, rows, from;  // [V, D]; [k] int64, undefined: all; [k, D]
  };
  std::vector<Copy> copies;
  std::vector<at::Tensor> steps;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].second;
    if (!tensor.grad().defined()) continue;
    Moments& kept = moments_[i];
    if (!kept.step.defined()) {
      kept = {at::zeros({}, tensor.options().dtype(at::kFloat).requires_grad(false)),
              at::zeros_like(tensor, at::MemoryFormat::Contiguous),
              at::zeros_like(tensor, at::MemoryFormat::Contiguous)};
    }
    Lists& of = lists[tensor.scalar_type()];
    const at::Tensor numbers = numbers_of(tensor);
    const at::Tensor rows = tensor.grad().is_sparse() ? tensor.grad()._indices()[0] : at::Tensor();  // [k]
    // The kernel goes through memory as it lies: of a sparse gradient, through a copy of its rows.
    const auto of_step = [&](const at::Tensor& whole) {
      if (!rows.defined() && whole.is_contiguous()) return whole;
      copies.push_back({whole, rows, rows.defined() ? whole.index_select(0, rows) : whole.contiguous()});
      return copies.back().from;
    };
    of.parameters.push_back(of_step(tensor));
    of.gradients.push_back(numbers.contiguous());
    of.means.push_back(of_step(kept.mean));
    of.squares.push_back(of_step(kept.square));
    of.steps.push_back(kept.step);
    steps.push_back(kept.step);
  }
  if (steps.empty()) return;
  if (scale.skip.defined()) {
    at::_foreach_add_(steps, 1 - scale.skip);
  } else {
    at::_foreach_add_(steps, 1);
  }
  const auto maybe = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
  };
  const OptimizerOptions& o = options_;
  const auto step = o.name == "adam" ? &at::_ops::_fused_adam_::call : &at::_ops::_fused_adamw_::call;
  for (const auto& [type, of] : lists) {
    at::Tensor divisor = scale.divisor;
    if (divisor.defined() && type == at::kDouble) {  // the kernel would round it
      at::_foreach_mul_(of.gradients, divisor.reciprocal());
      divisor = at::Tensor();
    }
    if (divisor.defined()) divisor = divisor.to(at::kFloat);
    step(of.parameters, of.gradients, of.means, of.squares, {}, of.steps, rate, o.beta1, o.beta2,
         o.weight_decay, o.epsilon, /*amsgrad=*/false, /*maximize=*/false, maybe(divisor), maybe(scale.skip));
  }
  for (const Copy& copy : copies) {
    if (copy.rows.defined()) {
      copy.to.index_copy_(0, copy.rows, copy.from);
    } else {
      copy.to.copy_(copy.from);
    }
  }
}

void Optimizer::step(double rate, const GradientScale& scale) {
  const at::NoGradGuard guard;
  if (is_adam()) return adam(rate, scale);
  if (scale.skip.defined() && is_plain_sgd(parameters_, options_)) {
    return plain_sgd(parameters_, options_, rate, scale);
  }
  // LibTorch's others know of neither.
  if (scale.skip.defined() && scale.skip.item<float>() != 0) return;
  const std::vector<at::Tensor> gradients = gradients_of(parameters_);
  if (scale.divisor.defined() && !gradients.empty()) {
    at::_foreach_mul_(gradients, scale.divisor.reciprocal());
  }
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(rate);
  optimizer_->step();
}

void Optimizer::zero_grad() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad().reset();
}

NamedTensors Optimizer::state() const {
  NamedTensors found;
  const auto add = [&](const char* member, const std::string& parameter, const auto& value) {
    const std::string whole = concat(member, ".", parameter);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, at::Tensor>) {
      if (value.defined()) found.emplace_back(whole, value);
    } else {
      found.emplace_back(whole, at::scalar_tensor(value, at::kLong));
    }
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (is_adam()) {
      const Moments& kept = moments_[i];
      if (!kept.step.defined()) continue;
      add("step", name, kept.step.to(at::kLong));
      add("exp_avg", name, kept.mean);
      add("exp_avg_sq", name, kept.square);
      continue;
    }
    const auto& states = optimizer_->state();
    const auto place = states.find(tensor.unsafeGetTensorImpl());
    if (place == states.end()) continue;
    with_state(options_.name, [&, &parameter = name]<typename State>(std::type_identity<State>) {
      for_members(static_cast<const State&>(*place->second),
                  [&](const char* member, const auto& value) { add(member, parameter, value); });
    });
  }
  return found;
}

void Optimizer::restore(const std::map<std::string, at::Tensor>& state) {
  const at::NoGradGuard guard;
  std::size_t used = 0;
  const auto find = [&](const char* member, const std::string& parameter) -> const at::Tensor* {
    const auto place = state.find(concat(member, ".", parameter));
    if (place == state.end()) return nullptr;
    ++used;
    return &place->second;
  };
  const auto like = [](const char* member, const std::string& parameter, const at::Tensor& saved,
                       const at::Tensor& of) {
    ST_CHECK(saved.sizes() == of.sizes(), FormatError, "state of the optimizer: ", member, ".", parameter,
             " is ", saved.sizes(), ", its parameter ", of.sizes());
    return saved.to(of.options()).clone(at::MemoryFormat::Contiguous);
  };
  const auto whole = [](const char* member, const std::string& parameter, const at::Tensor& saved) {
    ST_CHECK(saved.numel() == 1 && saved.scalar_type() == at::kLong, FormatError,
             "state of the optimizer: ", member, ".", parameter, " must be one whole number");
    return saved.item<std::int64_t>();
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (is_adam()) {
      const at::Tensor* const step = find("step", name);
      const at::Tensor* const mean = find("exp_avg", name);
      const at::Tensor* const square = find("exp_avg_sq", name);
      moments_[i] = {};
      if (step == nullptr && mean == nullptr && square == nullptr) continue;
      ST_CHECK(step != nullptr && mean != nullptr && square != nullptr, FormatError,
               "state of the optimizer: that of ", name, " lacks its step, exp_avg or exp_avg_sq");
      moments_[i] = {
          at::full({}, whole("step", name, *step), tensor.options().dtype(at::kFloat).requires_grad(false)),
          like("exp_avg", name, *mean, tensor), like("exp_avg_sq", name, *square, tensor)};
      continue;
    }
    auto& states = optimizer_->state();
    with_state(options_.name,
               [&, &parameter = name, &of = tensor]<typename State>(std::type_identity<State>) {
                 auto fresh = std::make_unique<State>();
                 const std::size_t before = used;
                 for_members(*fresh, [&](const char* member, auto& value) {
                   const at::Tensor* const saved = find(member, parameter);
                   if (saved == nullptr) return;
                   if constexpr (std::is_same_v<std::decay_t<decltype(value)>, at::Tensor>) {
                     value = like(member, parameter, *saved, of);
                   } else {
                     fresh->step(whole(member, parameter, *saved));
                   }
                 });
                 if (used > before) states[of.unsafeGetTensorImpl()] = std::move(fresh);
               });
  }
  ST_CHECK(used == state.size(), FormatError, "state of the optimizer: of ", state.size(), " tensors only ",
           used, " belong to the ", options_.name, " of these parameters");
}

Clipped clip(const NamedTensors& parameters, const at::Tensor& factor, const Clipping& clipping) {
  const at::NoGradGuard guard;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return {at::zeros_like(factor), factor.reciprocal()};
  at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2)).to(at::kDouble) * factor;  // [tensors]
  const at::Tensor norm = norms.norm();
  at::Tensor scale = factor;
  if (clipping.each_norm > 0) {
    const at::Tensor each = (clipping.each_norm / norms.clamp_min(1e-30)).clamp_max(1) * factor;
    const auto own = each.unbind();
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].mul_(own[i]);
    norms = norms.clamp_max(clipping.each_norm);
    scale = at::ones_like(factor);
  }
  if (clipping.global_norm > 0) {
    scale = scale * (clipping.global_norm / norms.norm().clamp_min(1e-30)).clamp_max(1);
  }
  return {norm, scale.reciprocal()};
}

}  // namespace sentencode::training
