// Bodies of losses before they are summed up, and of their derivatives: a is the gradient, b the
// input and c the target, and s what the gradient is multiplied by.
VALUE(mse_loss, 2, (a - b) * (a - b))
VALUE(mse_loss_backward, 3, s*(b - c) * a)
VALUE(smooth_l1_loss, 2, N(smooth_l1_of)(a - b, s))
VALUE(smooth_l1_loss_backward, 3, s* a*(b - c <= -t ? (C)-1 : b - c >= t ? (C)1 : (b - c) / t))
VALUE(huber_loss, 2, N(huber_of)(a - b, s))
VALUE(huber_loss_backward, 3, s* a*(b - c <= -t ? -t : b - c >= t ? t : b - c))
// An input outside of 0 to 1 gives NaN.
VALUE(binary_cross_entropy, 2, (b - 1) * LARGER(log1p(-a), (C)-100) - b * LARGER(log(a), (C)-100))
VALUE(binary_cross_entropy_backward, 3, s* a*(b - c) / LARGER((1 - b) * b, LITERAL(1e-12)))
