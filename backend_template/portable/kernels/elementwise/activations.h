// Bodies of activations, and of their derivatives (a is the gradient, b the input, or the result
// where the name says so).
VALUE(sigmoid, 1, N(sigmoid_of)(a))
VALUE(sigmoid_backward, 2, a * (1 - b) * b)  // b: the result
VALUE(tanh_backward, 2, a * (1 - b * b))     // b: the result
VALUE(gelu, 1, a*(C)0.5f * (1 + erf(a * SQRT_HALF)))
VALUE(gelu_backward, 2,
      a*((C)0.5f * (1 + erf(b * SQRT_HALF)) +
         b * LITERAL(0.39894228040143267794) * exp((C)-0.5f * b * b)))
VALUE(gelu_tanh, 1,
      (C)0.5f * a *
          (1 + tanh(LITERAL(0.79788456080286535588) * (a + LITERAL(0.044715) * a * a * a))))
VALUE(gelu_tanh_backward, 2, N(gelu_tanh_backward_of)(a, b))
VALUE(silu, 1, a / (1 + exp(-a)))
VALUE(silu_backward, 2, a* N(sigmoid_of)(b) * (1 + b * (1 - N(sigmoid_of)(b))))
VALUE(mish, 1, a* tanh(log1p(exp(a))))
VALUE(mish_backward, 2, N(mish_backward_of)(a, b))
VALUE(elu, 1, a > 0 ? a * t : expm1(a * u) * (s * t))
VALUE(elu_backward, 2, b <= 0 ? a * u * (s * t) * exp(b * u) : a * t)
VALUE(elu_backward_of_result, 2, b <= 0 ? a * u * (b + s * t) : a * t)
VALUE(leaky_relu, 1, a > 0 ? a : a * s)
VALUE(leaky_relu_backward, 2, a > 0 ? b : b * s)  // b: the gradient
VALUE(prelu, 2, a > 0 ? a : a * b)
VALUE(prelu_backward, 3, b > 0 ? a : a * c)
VALUE(prelu_backward_weight, 2, b > 0 ? (C)0 : b * a)
VALUE(hardtanh_backward, 2, b <= s || b >= t ? (C)0 : a)
VALUE(hardsigmoid, 1, SMALLER(LARGER(a + 3, (C)0), (C)6) / 6)
VALUE(hardsigmoid_backward, 2, b > -3 && b < 3 ? a / 6 : (C)0)
VALUE(hardswish, 1, a* SMALLER(LARGER(a + 3, (C)0), (C)6) / 6)
VALUE(hardswish_backward, 2, b <= -3 ? (C)0 : b < 3 ? a * (b / 3 + (C)0.5f) : a)
VALUE(softplus, 1, a* s > t ? a : log1p(exp(a * s)) / s)
VALUE(softplus_backward, 2, b* s > t ? a : a * N(sigmoid_of)(b * s))
VALUE(softshrink, 1, a > s ? a - s : a < -s ? a + s : a * 0)
VALUE(hardshrink, 1, a >= -s && a <= s ? (C)0 : a)
VALUE(shrink_backward, 2, b >= -s && b <= s ? (C)0 : a)
VALUE(log_sigmoid, 1, SMALLER(a, (C)0) - log1p(exp(-fabs(a))))
VALUE(log_sigmoid_buffer, 1, exp(-fabs(a)))
VALUE(log_sigmoid_backward, 2, a* N(sigmoid_of)(-b))
VALUE(logit, 1, N(logit_of)(a, s))
VALUE(logit_backward, 2, N(logit_backward_of)(a, b, s))
VALUE(glu, 2, a* N(sigmoid_of)(b))
// Of the first half, b being the second one; of the second half, b and c being both.
VALUE(glu_backward_first, 2, a* N(sigmoid_of)(b))
VALUE(glu_backward_second, 3, a* b* N(sigmoid_of)(c) * N(sigmoid_of)(-c))
