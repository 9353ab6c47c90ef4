#include "evaluation/logistic/parallel.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

namespace sentencode::logistic {

void in_parallel(std::int64_t count, bool worth, const std::function<void(std::int64_t)>& body) {
  if (!worth || count < 2) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const c10::InferenceMode guard;
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace sentencode::logistic
