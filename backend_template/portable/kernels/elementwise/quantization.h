// Bodies of fake quantization: b is the scale and c the zero point, s the least quantized value and
// t the greatest one; u is 1 if the zero point is rounded together with a. NaN counts as the least.
VALUE(fake_quantize, 3, (fmin(fmax(N(quantized)(a, b, c, u), s), t) - c) * b)
TRUTH(fake_quantize_mask, 3, N(quantized)(a, b, c, u) >= s && N(quantized)(a, b, c, u) <= t)
// The derivatives with respect to the scale and to the zero point.
VALUE(fake_quantize_by_scale, 3, N(quantize_by_scale)(a, b, c, s, t, N(quantized)(a, b, c, u)))
VALUE(fake_quantize_by_zero_point, 3,
      N(quantized)(a, b, c, u) >= s && N(quantized)(a, b, c, u) <= t ? (C)0 : -b)
// The same by numbers: u is the scale, and s and t are less the zero point.
VALUE(fake_quantize_numbers, 1, fmin(fmax(N(quantized)(a, u, 0, 0), s), t) * u)
TRUTH(fake_quantize_numbers_mask, 1, N(quantized)(a, u, 0, 0) >= s && N(quantized)(a, u, 0, 0) <= t)
