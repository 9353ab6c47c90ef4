// Our operators in torch's dispatcher.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace sentencode::nn {

/// The operator `name` ("sentencode::..."), of signature F.
template <typename F>
c10::TypedOperatorHandle<F> find_op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

}  // namespace sentencode::nn
