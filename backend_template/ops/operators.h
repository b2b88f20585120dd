// Who serves an operator on this backend: a vendor's kernel, one of Outback's own (own/), a CPU
// kernel in place (in_place/), or a CPU kernel over copies (copies/). The registration calls the
// one function; nothing else outside this folder needs this file.
#pragma once

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// Registers kernels for the operators of ATen under PrivateUse1 and its autocast, sparse,
/// quantized and nested relatives, and a boxed fallback for all other operators, custom ones
/// included. Operators that torch composes of others for every device are left to torch, with the
/// exceptions that register.cpp names.
///
/// An operator that has a kernel for the key already keeps it, whoever wrote it. An operator in
/// `excluded` gets no kernel from here; if torch does not compose it of others either, a call of it
/// throws c10::NotImplementedError (Python: NotImplementedError).
///
/// To be called once, after core::install_runtime; the registration holds its lock meanwhile.
/// Calls no slot. The kernels stay registered until the process ends.
void register_operators(operator_names excluded);

}  // namespace outback::ops
