// Bessel functions of the first and second kind, of order 0 and 1. Read by special.h.
//
// Derived from j0.c and j1.c of the Cephes Math Library, whose licence is:
//
// Copyright (c) 2018, Steven Moshier
// All rights reserved.
//
// Redistribution and use in source and binary forms, with or without modification, are permitted
// provided that the following conditions are met:
// * Redistributions of source code must retain the above copyright notice, this list of conditions
//   and the following disclaimer.
// * Redistributions in binary form must reproduce the above copyright notice, this list of
//   conditions and the following disclaimer in the documentation and/or other materials provided
//   with the distribution.
// * Neither the name of the nor the names of its contributors may be used to endorse or promote
//   products derived from this software without specific prior written permission.
//
// THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR
// IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND
// FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL Steven Moshier BE LIABLE FOR
// ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT
// NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR
// BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT
// LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
// SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
//
// In some denominators the coefficient of the highest power is 1. PyTorch's text lacks that 1, and
// is off by up to 2e-6.

// For x > 5, J0 is sqrt(2 / (pi x)) (P cos(x - pi / 4) - Q sin(x - pi / 4)). The sine and the
// cosine of such a difference are those of x, added: x - pi / 4 itself would be rounded.
DEVICE REAL FN(special_bessel_p0)(REAL x) {
  const REAL z = 25 / (x * x);
  return POLY7(z, 9.99999999999999998e-1, 5.30324038235394892, 8.74716500199817012,
               5.44725003058768775, 1.23953371646414299, 8.283523921074408e-2,
               7.96936729297347052e-4) /
         POLY7(z, 1.0, 5.30605288235394618, 8.76190883237069594, 5.47097740330417105,
               1.25352743901058954, 8.56288474354474431e-2, 9.24408810558863637e-4);
}
DEVICE REAL FN(special_bessel_q0)(REAL x) {
  const REAL z = 25 / (x * x);
  return 5 / x *
         POLY8(z, -6.05014350600728481, -5.1410532676659933e1, -1.4707750515495117e2,
               -1.77681167980488051e2, -9.32060152123768231e1, -1.95539544257735972e1,
               -1.28252718670509319, -1.1366383889846915e-2) /
         POLY8(z, 2.42005740240291393e2, 2.06209331660327847e3, 5.93072701187316985e3,
               7.24046774195652478e3, 3.8824018360540161e3, 8.56430025976980587e2,
               6.43178256118178023e1, 1.0);
}
// The same for order 1.
DEVICE REAL FN(special_bessel_p1)(REAL x) {
  const REAL z = 25 / (x * x);
  return POLY7(z, 1.0, 5.21451598682361504, 8.42404590141772421, 5.11207951146807645,
               1.12719608129684925, 7.3139705694091757e-2, 7.62125616208173112e-4) /
         POLY7(z, 9.99999999999999997e-1, 5.20982848682361822, 8.3998555432760416,
               5.07386386128601489, 1.10514232634061697, 6.88455908754495404e-2,
               5.713231280725487e-4);
}
DEVICE REAL FN(special_bessel_q1)(REAL x) {
  const REAL z = 25 / (x * x);
  return 5 / x *
         POLY8(z, 2.5207020585802372e1, 2.11688757100572136e2, 5.9748961240061364e2,
               7.10856304998926107e2, 3.66779609360150778e2, 7.58238284132545284e1,
               4.98213872951233449, 5.10862594750176622e-2) /
         POLY8(z, 3.36093607810698293e2, 2.82619278517639097e3, 7.99704160447350684e3,
               9.56231892404756171e3, 4.98641058337653608e3, 1.05644886038262816e3,
               7.4237327703567515e1, 1.0);
}

// J0, the first kind. Up to 5 its first two zeros are factors, the first one in two parts.
DEVICE REAL FN(bessel_j0)(REAL x) {
  x = fabs(x);
  if (x > 5) {
    const REAL s = sin(x), c = cos(x);
    const REAL p = FN(special_bessel_p0)(x), q = FN(special_bessel_q0)(x);
    return (p * (c + s) - q * (s - c)) * NUM(0.564189583547756287) / sqrt(x);
  }
  if (x < NUM(1e-5)) return 1 - NUM(0.25) * x * x;
  const REAL z = x * x;
  const REAL zeros = ((x - NUM(2.404825448989868)) - NUM(1.08705904604559132e-7)) *
                     (x + NUM(2.40482555769577277)) * (z - NUM(30.4712623436620864));
  return zeros *
         POLY4(z, 9.70862251047306324e15, -2.49248344360967716e14, 1.95617491946556578e12,
               -4.79443220978201774e9) /
         POLY9(z, 1.71086294081043136e18, 3.18121955943204943e16, 3.10518229857422584e14,
               2.11277520115489218e12, 1.11855537045356835e10, 4.84409658339962045e7,
               1.73785401676374683e5, 4.99563147152651017e2, 1.0);
}

// J1, the first kind.
DEVICE REAL FN(bessel_j1)(REAL x) {
  const REAL sign = x < 0 ? (REAL)-1 : (REAL)1;
  x = fabs(x);
  if (x > 5) {
    const REAL s = sin(x), c = cos(x);
    const REAL p = FN(special_bessel_p1)(x), q = FN(special_bessel_q1)(x);
    return sign * (p * (s - c) + q * (s + c)) * NUM(0.564189583547756287) / sqrt(x);
  }
  const REAL z = x * x;
  const REAL zeros = ((x - NUM(3.8317060470581055)) + NUM(7.68505931531355641e-8)) *
                     (x + NUM(3.83170597020751232)) * (z - NUM(49.2184563216946037));
  return sign * x * zeros *
         POLY4(z, 3.68295732863852883e15, -7.27494245221818276e13, 4.52228297998194034e11,
               -8.99971225705559398e8) /
         POLY9(z, 5.32278620332680085e18, 8.95222336184627338e16, 7.84369607876235855e14,
               4.74914122079991415e12, 2.215115954797925e10, 8.35146791431949253e7,
               2.5698725675774883e5, 6.20836478118054335e2, 1.0);
}

// Y0, the second kind; -inf at 0, NaN below.
DEVICE REAL FN(bessel_y0)(REAL x) {
  if (x > 5) {
    const REAL s = sin(x), c = cos(x);
    const REAL p = FN(special_bessel_p0)(x), q = FN(special_bessel_q0)(x);
    return (p * (s - c) + q * (c + s)) * NUM(0.564189583547756287) / sqrt(x);
  }
  if (x == 0) return -(REAL)INF;
  if (!(x > 0)) return (REAL)NOT_A_NUMBER;
  const REAL z = x * x;
  const REAL rest = POLY8(z, -1.84950800436986691e16, 4.427332685725698e16, -3.46628303384729719e15,
                          8.75906394395367e13, -9.82136065717911466e11, 5.435264770518765e9,
                          -1.46639295903971606e7, 1.55924367855235738e4) /
                    POLY8(z, 2.50596256172653059e17, 3.17157752842975028e15, 2.02979612750105547e13,
                          8.64002487103935e10, 2.68919633393814122e8, 6.26107330137134957e5,
                          1.04128353664259848e3, 1.0);
  return rest + NUM(0.636619772367581343) * log(x) * FN(bessel_j0)(x);
}

// Y1, the second kind; -inf at 0, NaN below.
DEVICE REAL FN(bessel_y1)(REAL x) {
  if (x > 5) {
    const REAL s = sin(x), c = cos(x);
    const REAL p = FN(special_bessel_p1)(x), q = FN(special_bessel_q1)(x);
    return (q * (s - c) - p * (s + c)) * NUM(0.564189583547756287) / sqrt(x);
  }
  if (x == 0) return -(REAL)INF;
  if (!(x > 0)) return (REAL)NOT_A_NUMBER;
  const REAL z = x * x;
  const REAL rest =
      x *
      POLY6(z, -7.78877196265950027e17, 2.02439475713594898e17, -8.1277025550132511e15,
            1.14509511541823728e14, -6.47355876379160291e11, 1.26320474790178026e9) /
      POLY9(z, 3.97270608116560656e18, 6.8714108735530049e16, 6.20557727146953693e14,
            3.88231277496238566e12, 1.87601316108706159e10, 7.34811944459721706e7,
            2.35564092943068578e5, 5.94301592346128195e2, 1.0);
  const REAL two_by_pi = NUM(0.636619772367581343);
  return rest + two_by_pi * FN(bessel_j1)(x) * log(x) - two_by_pi / x;
}

// sin(x) / x, by its Taylor series below 0.5.
DEVICE REAL FN(spherical_bessel_j0)(REAL x) {
  const REAL size = fabs(x), z = x * x;
  if (size == (REAL)INF) return 0;
  if (size >= NUM(0.5)) return sin(x) / x;
  return POLY7(z, 1.0, -1.66666666666666667e-1, 8.33333333333333333e-3, -1.98412698412698413e-4,
               2.75573192239858907e-6, -2.50521083854417188e-8, 1.60590438368216146e-10);
}
