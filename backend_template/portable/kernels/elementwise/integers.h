// Bodies for integers and bools, which are computed in i64. Shifts by a negative number or by all
// bits and more are defined, as in PyTorch.
VALUE(bitwise_not, 1, ~a)
VALUE(bitwise_and, 2, a & b)
VALUE(bitwise_or, 2, a | b)
VALUE(bitwise_xor, 2, a ^ b)
VALUE(shift_left, 2, b < 0 || b >= 64 ? 0 : (C)((u64)a << b))
VALUE(shift_right, 2, b < 0 || b >= 64 ? (a < 0 ? -1 : 0) : a >> b)
VALUE(div_trunc, 2, N(truncated_quotient)(a, b))
VALUE(fmod, 2, N(fmod_of)(a, b))
VALUE(gcd, 2, N(gcd_of)(a, b))
VALUE(lcm, 2, N(lcm_of)(a, b))
VALUE(pow, 2, N(power_of)(a, b))
VALUE(pow_of_number, 1, N(power_of)(a, s))
