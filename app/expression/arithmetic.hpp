// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "app/expression/expression.hpp"

namespace collsim {

// What a step makes of two numbers; may be infinite or NaN.
[[nodiscard]] inline double applied(ExpressionStep::Code code, double left, double right) {
  using Code = ExpressionStep::Code;
  switch (code) {
    case Code::add: return left + right;
    case Code::subtract: return left - right;
    case Code::multiply: return left * right;
    case Code::divide: return left / right;
    case Code::power: return std::pow(left, right);
    case Code::minimum: return std::min(left, right);
    case Code::maximum: return std::max(left, right);
    default: return left;
  }
}

// What a step makes of one number.
[[nodiscard]] inline double applied(ExpressionStep::Code code, double operand) {
  using Code = ExpressionStep::Code;
  switch (code) {
    case Code::negate: return -operand;
    case Code::ceil: return std::ceil(operand);
    case Code::floor: return std::floor(operand);
    case Code::sqrt: return std::sqrt(operand);
    case Code::log2: return std::log2(operand);
    case Code::abs: return std::abs(operand);
    default: return operand;
  }
}

}  // namespace collsim
