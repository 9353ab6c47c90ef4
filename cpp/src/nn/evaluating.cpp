#include "sentencode/nn/evaluating.h"

namespace sentencode::nn {

thread_local int Evaluating::depth_ = 0;

}  // namespace sentencode::nn
