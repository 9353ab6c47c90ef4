// The solver of logistic regressions.
#pragma once

#include <optional>

#include "evaluation/logistic/design.h"
#include "evaluation/logistic/targets.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// Solves problems whose folds cover all rows. Predictions are for these rows, then for `others`; gradients
/// are those of the last iteration.
LogisticSolutions solve(Design x, const Targets& targets, const LogisticProblems& problems,
                        const LogisticOptions& options, const std::optional<Features>& others);

}  // namespace sentencode::logistic
