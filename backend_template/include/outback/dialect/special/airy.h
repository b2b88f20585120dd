// Airy's function Ai. Read by special.h.
//
// Derived from airy.c of the Cephes Math Library, whose licence is:
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
// In two denominators the coefficient of the highest power is 1. PyTorch's text lacks that 1, and
// is off by up to 7e-6 below -2.09.

// Ai(x); NaN at both infinities.
DEVICE REAL FN(airy_ai)(REAL x) {
  if (fabs(x) == (REAL)INF) return (REAL)NOT_A_NUMBER;
  if (x > NUM(103.892)) return 0;
  const REAL root = sqrt(fabs(x)), zeta = fabs(x) * root * NUM(0.666666666666666667);
  if (x < NUM(-2.09)) {
    const REAL s = sin(zeta), c = cos(zeta), w = 1 / zeta, z = w * w;
    const REAL f =
        z *
        POLY9(z, -1.67787698489114634e-8, -2.77649108155232921e-6, -1.59276496239262096e-4,
              -4.06265923594885404e-3, -4.91900132609500318e-2, -2.79779981545119125e-1,
              -6.93158036036933542e-1, -6.2645654443191237e-1, -1.31696323418331795e-1) /
        POLY10(z, 4.51850092970580378e-7, 7.54720348287414297e-5, 4.40291641615211204e-3,
               1.15687173795188044e-1, 1.47529146771666415, 9.18707402907259626,
               2.67367040941499555e1, 3.26825032795224614e1, 1.33560420706553244e1, 1.0);
    const REAL g = w *
                   POLY11(z, 3.41551784765923618e-10, 8.11789239554389293e-8,
                          6.98793669997260967e-6, 2.8285160083673702e-4, 5.85804113048388459e-3,
                          6.33888919628925491e-2, 3.51465656105547619e-1, 9.3916922981665023e-1,
                          1.06579897599595591, 3.91103029615688277e-1, 1.97339932091685679e-2) /
                   POLY11(z, 4.91834570062930016e-9, 1.17166733214413522e-6, 1.01259085116509136e-4,
                          4.12656523824222607e-3, 8.64580826352392193e-2, 9.54293611618961884e-1,
                          5.47686069422975498, 1.55646628932864613e1, 1.9835292871831214e1,
                          9.30892908077441975, 1.0);
    // The sine and the cosine of zeta + pi / 4, times sqrt(2).
    return NUM(0.398942280401432678) / sqrt(root) * ((s + c) * (1 + f) - (c - s) * g);
  }
  if (x >= NUM(2.09)) {
    const REAL z = 1 / zeta;
    const REAL series =
        POLY8(z, 9.99999999999999995e-1, 1.40264691163389669e1, 7.05360906840444183e1,
              1.59756391350164414e2, 1.68089224934630576e2, 7.62796053615234517e1,
              1.20075952739645806e1, 3.46538101525629032e-1) /
        POLY8(z, 1.0, 1.4095913560783403e1, 7.14778400825575695e1, 1.64234692871529702e2,
              1.7731808814540046e2, 8.45138970141474627e1, 1.47562562584847203e1,
              5.67594532638770213e-1);
    return NUM(0.282094791773878143) * series / sqrt(root) * exp(-zeta);
  }
  // Both Taylor series in x^3 (DLMF 9.4.1), by Horner's rule.
  const REAL z = x * x * x;
  REAL f = 1, g = 1;
  for (i32 k = 39; k > 0; k -= 3) {
    f = 1 + z * f / (k * (k - 1));
    g = 1 + z * g / (k * (k + 1));
  }
  return NUM(0.355028053887817239) * f - NUM(0.258819403792806798) * x * g;
}
