// The solver of logistic regressions.
#pragma once

#include <optional>

#include "evaluation/logistic/design.h"
#include "evaluation/logistic/targets.h"
#include "sentencode/evaluation/logistic.h"

namespace sentencode::logistic {

/// Solves problems on rows that some fold trains on, each of them. Predictions are of these rows, then of
/// `others`; gradients as they are known along the way.
LogisticSolutions solve(Design x, const Targets& targets, const LogisticProblems& problems,
                        const LogisticOptions& options, const std::optional<Features>& others);

}  // namespace sentencode::logistic
