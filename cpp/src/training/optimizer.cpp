#include "sentencode/training/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
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
  if constexpr (std::is_same_v<Plain, optim::AdamParamState> ||
                std::is_same_v<Plain, optim::AdamWParamState>) {
    visit("step", state.step());
    visit("exp_avg", state.exp_avg());
    visit("exp_avg_sq", state.exp_avg_sq());
  } else if constexpr (std::is_same_v<Plain, optim::SGDParamState>) {
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

/// body(type of the state, type of the options) of the optimiser of that name.
template <typename Body>
decltype(auto) with_types(std::string_view name, const Body& body) {
  using std::type_identity;
  if (name == "adam")
    return body(type_identity<optim::AdamParamState>(), type_identity<optim::AdamOptions>());
  if (name == "adamw")
    return body(type_identity<optim::AdamWParamState>(), type_identity<optim::AdamWOptions>());
  if (name == "sgd") return body(type_identity<optim::SGDParamState>(), type_identity<optim::SGDOptions>());
  if (name == "rmsprop")
    return body(type_identity<optim::RMSpropParamState>(), type_identity<optim::RMSpropOptions>());
  return body(type_identity<optim::AdagradParamState>(), type_identity<optim::AdagradOptions>());
}

std::unique_ptr<optim::Optimizer> made(std::vector<at::Tensor> parameters, const OptimizerOptions& options) {
  const double rate = 1e-3;  // each step brings its own
  const auto betas = std::make_tuple(options.beta1, options.beta2);
  const double eps = options.epsilon, decay = options.weight_decay;
  if (options.name == "adam") {
    return std::make_unique<optim::Adam>(std::move(parameters),
                                         optim::AdamOptions(rate).betas(betas).eps(eps).weight_decay(decay));
  }
  if (options.name == "adamw") {
    return std::make_unique<optim::AdamW>(
        std::move(parameters), optim::AdamWOptions(rate).betas(betas).eps(eps).weight_decay(decay));
  }
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
  optimizer_ = made(std::move(tensors), options_);
}

Optimizer::~Optimizer() = default;

/// LibTorch's own step goes through all memory a dozen times; this goes once, with the same state.
template <typename State>
void Optimizer::adam(double rate) {
  const at::NoGradGuard guard;
  struct Lists {
    std::vector<at::Tensor> parameters, gradients, means, squares, steps;
  };
  std::map<at::ScalarType, Lists> lists;                  // a GPU takes tensors of one type
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // the kernel goes through memory as it lies
  for (const auto& [name, tensor] : parameters_) {
    if (!tensor.grad().defined()) continue;
    auto& kept = optimizer_->state()[tensor.unsafeGetTensorImpl()];
    if (kept == nullptr) {
      auto fresh = std::make_unique<State>();
      fresh->step(0);
      fresh->exp_avg(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
      fresh->exp_avg_sq(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
      kept = std::move(fresh);
    }
    auto& state = static_cast<State&>(*kept);
    state.step(state.step() + 1);
    Lists& of = lists[tensor.scalar_type()];
    of.parameters.push_back(tensor.contiguous());
    if (!tensor.is_contiguous()) copies.emplace_back(tensor, of.parameters.back());
    of.gradients.push_back(tensor.grad().contiguous());
    of.means.push_back(state.exp_avg());
    of.squares.push_back(state.exp_avg_sq());
    of.steps.push_back(at::full({}, state.step(), tensor.options().dtype(at::kFloat)));
  }
  const OptimizerOptions& o = options_;
  for (const auto& [type, of] : lists) {
    const auto step = std::is_same_v<State, optim::AdamParamState> ? &at::_ops::_fused_adam_::call
                                                                   : &at::_ops::_fused_adamw_::call;
    step(of.parameters, of.gradients, of.means, of.squares, {}, of.steps, rate, o.beta1, o.beta2,
         o.weight_decay, o.epsilon, /*amsgrad=*/false, /*maximize=*/false, {}, {});
  }
  for (const auto& [tensor, copy] : copies) tensor.copy_(copy);
}

void Optimizer::step(double rate) {
  if (options_.name == "adam") return adam<optim::AdamParamState>(rate);
  if (options_.name == "adamw") return adam<optim::AdamWParamState>(rate);
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(rate);
  optimizer_->step();
}

void Optimizer::zero_grad() { optimizer_->zero_grad(/*set_to_none=*/true); }

NamedTensors Optimizer::state() const {
  NamedTensors found;
  const auto& states = optimizer_->state();
  for (const auto& [name, tensor] : parameters_) {
    const auto place = states.find(tensor.unsafeGetTensorImpl());
    if (place == states.end()) continue;
    const auto add = [&, &parameter = name](const char* member, const auto& value) {
      const std::string whole = std::string(member) + "." + parameter;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, at::Tensor>) {
        if (value.defined()) found.emplace_back(whole, value);
      } else {
        found.emplace_back(whole, at::scalar_tensor(value, at::kLong));
      }
    };
    with_types(options_.name,
               [&]<typename State, typename Options>(std::type_identity<State>, std::type_identity<Options>) {
                 for_members(static_cast<const State&>(*place->second), add);
               });
  }
  return found;
}

void Optimizer::restore(const std::map<std::string, at::Tensor>& state) {
  const at::NoGradGuard guard;
  std::size_t used = 0;
  auto& states = optimizer_->state();
  for (const auto& [name, tensor] : parameters_) {
    with_types(options_.name, [&, &parameter = name, &of = tensor]<typename State, typename Options>(
                                  std::type_identity<State>, std::type_identity<Options>) {
      auto fresh = std::make_unique<State>();
      bool any = false;
      for_members(*fresh, [&](const char* member, auto& value) {
        const std::string whole = std::string(member) + "." + parameter;
        const auto place = state.find(whole);
        if (place == state.end()) return;
        any = true;
        ++used;
        const at::Tensor& saved = place->second;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, at::Tensor>) {
          ST_CHECK(saved.sizes() == of.sizes(), FormatError, "state of the optimizer: ", whole, " is ",
                   saved.sizes(), ", its parameter ", of.sizes());
          value = saved.to(of.options()).clone();
        } else {
          ST_CHECK(saved.numel() == 1 && saved.scalar_type() == at::kLong, FormatError,
                   "state of the optimizer: ", whole, " must be one whole number");
          fresh->step(saved.item<std::int64_t>());
        }
      });
      if (any) states[of.unsafeGetTensorImpl()] = std::move(fresh);
    });
  }
  ST_CHECK(used == state.size(), FormatError, "state of the optimizer: of ", state.size(), " tensors only ",
           used, " belong to the ", options_.name, " of these parameters");
}

double clip(const NamedTensors& parameters, const Clipping& clipping) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.grad().defined()) gradients.push_back(tensor.grad());
  }
  if (gradients.empty()) return 0;
  const at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2)).to(at::kDouble);  // [tensors]
  at::Tensor scales = at::ones_like(norms);
  if (clipping.each_norm > 0) scales = (clipping.each_norm / norms.clamp_min(1e-30)).clamp_max(1);
  if (clipping.global_norm > 0) {
    const at::Tensor all = (norms * scales).norm();
    scales = scales * (clipping.global_norm / all.clamp_min(1e-30)).clamp_max(1);
  }
  const at::Tensor told = at::cat({scales, norms.norm().unsqueeze(0)}).cpu();
  const double* number = told.const_data_ptr<double>();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (number[i] < 1) gradients[i].mul_(number[i]);
  }
  return number[gradients.size()];
}

}  // namespace sentencode::training
