// The inverse functions of the normal distribution and of the error function. Read by special.h.
//
// Derived from ndtri.c of the Cephes Math Library, whose licence is:
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

// The quantile of 0.5 + p where |p| <= 0.5 - exp(-2), without the factor sqrt(2 pi).
DEVICE REAL FN(special_quantile_center)(REAL p) {
  const REAL z = p * p;
  const REAL above = POLY5(z, -1.23916583867381258, 1.3931260938727968e1, -5.66762857469070293e1,
                           9.80010754185999662e1, -5.99633501014107895e1);
  const REAL below = POLY9(z, -1.18331621121330003, 1.59056225126211696e1, -8.2037225616833334e1,
                           2.0026021238006066e2, -2.25462687854119371e2, 8.63602421390890591e1,
                           4.67627912898881538, 1.9544885833814176, 1.0);
  return p + p * (z * above / below);
}

// The negative of the quantile of p, for 0 < p <= exp(-2).
DEVICE REAL FN(special_quantile_tail)(REAL p) {
  const REAL x = sqrt(-2 * log(p)), z = 1 / x;
  REAL above, below;
  if (x < 8) {
    above = POLY9(z, -8.57456785154685414e-4, -3.50424626827848203e-2, -1.40256079171354496e-1,
                  2.18663306850790268, 1.46849561928858024e1, 4.40805073893200835e1,
                  5.71628192246421288e1, 3.15251094599893866e1, 4.0554489230596242);
    below = POLY9(z, -9.33259480895457427e-4, -3.80806407691578277e-2, -1.42182922854787789e-1,
                  2.50464946208309416, 1.50425385692907503e1, 4.1317203825467203e1,
                  4.53907635128879211e1, 1.5779988325646675e1, 1.0);
  } else {
    above = POLY9(z, 6.23974539184983294e-9, 2.65806974686737551e-6, 3.01581553508235416e-4,
                  1.23716634817820021e-2, 2.01485389549179082e-1, 1.33303460815807542,
                  3.93881025292474443, 6.91522889068984212, 3.23774891776946036);
    below = POLY9(z, 6.79019408009981274e-9, 2.89247864745380684e-6, 3.28014464682127739e-4,
                  1.34204006088543189e-2, 2.16236993594496636e-1, 1.3770209948908133,
                  3.67983563856160859, 6.02427039364742014, 1.0);
  }
  return x - log(x) / x - z * above / below;
}

// The x whose ndtr(x) is p.
DEVICE REAL FN(ndtri)(REAL p) {
  const REAL exp_m2 = NUM(0.135335283236612692);
  if (p < 0 || p > 1) return (REAL)NOT_A_NUMBER;
  if (p == 0) return -(REAL)INF;
  if (p == 1) return (REAL)INF;
  if (p > 1 - exp_m2) return FN(special_quantile_tail)(1 - p);
  if (p > exp_m2) {
    return NUM(2.50662827463100050) * FN(special_quantile_center)(p - NUM(0.5));
  }
  return -FN(special_quantile_tail)(p);
}

// The x whose erf(x) is y: sqrt(0.5) times the quantile of (1 + y) / 2.
DEVICE REAL FN(erfinv)(REAL y) {
  const REAL size = fabs(y);
  if (size > 1) return (REAL)NOT_A_NUMBER;
  if (size == 1) return y * (REAL)INF;
  if (size <= NUM(0.729329433526774616)) {  // 1 - 2 exp(-2)
    return NUM(1.77245385090551603) * FN(special_quantile_center)(y * NUM(0.5));
  }
  const REAL x = NUM(0.707106781186547524) * FN(special_quantile_tail)((1 - size) * NUM(0.5));
  return y < 0 ? -x : x;
}
