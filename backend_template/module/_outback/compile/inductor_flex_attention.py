"""FlexAttention in Inductor, whose code here is for the CPU or in the dialect. Its template for
the CPU computes the result alone, which is what inference needs. What else may be asked for there,
the logsumexp, the largest scores and the gradients, and all of it in the dialect, is generated from
the operators that eager mode uses: fused, but with the whole matrix of scores in memory, as in
eager mode. Imported when Inductor is.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import lowering
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.kernel.flex import flex_attention, flex_cpu
from torch._inductor.virtualized import V
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from . import in_place, inductor

_FORWARD = torch.ops.higher_order.flex_attention
_BACKWARD = torch.ops.higher_order.flex_attention_backward
_CONVERT = torch.ops.prims.convert_element_type.default
_TO_COPY = torch.ops.aten._to_copy.default

# The score, the batch, the head and two places, before what else it uses.
_ARGUMENTS_OF_SCORE_MOD = 5

Implementation = Callable[..., Any]


# ---- From other operators


def _with_operators_of_aten(graph_module: GraphModule) -> GraphModule:
    """A copy that torch.vmap maps as a whole. Inductor's decompositions are in it, and of a prim,
    vmap would trace one call for each score."""
    copied = copy.deepcopy(graph_module)
    for node in copied.graph.find_nodes(op="call_function", target=_CONVERT):
        tensor, dtype = node.args
        node.target, node.args, node.kwargs = _TO_COPY, (tensor,), {"dtype": dtype}
    for node in copied.graph.nodes:
        in_aten = getattr(node.target, "impl_aten", None)
        if in_aten is not None and node.all_input_nodes:
            node.target = in_aten
    copied.recompile()
    return copied


def _fake(node: Node) -> Any:
    """What stands for a node while its user is traced."""
    if node.op == "get_attr":
        owner, _, attribute = str(node.target).rpartition(".")
        found = getattr(node.graph.owning_module.get_submodule(owner), attribute)
        if isinstance(found, GraphModule):
            return _with_operators_of_aten(found)
    return node.meta["val"]


def _write_out_constants(traced: GraphModule) -> None:
    """Those that the tracer keeps as attributes are numbers. Of attributes, Inductor finds only the
    whole graph's."""
    for node in traced.graph.find_nodes(op="get_attr"):
        constant = getattr(traced, node.target)
        if constant.numel() != 1:
            raise NotImplementedError(
                "flex_attention: score_mod makes a tensor of several numbers, which Inductor "
                "cannot compile there: make it outside, and let score_mod capture it"
            )
        options = {"dtype": constant.dtype, "device": constant.device}
        with traced.graph.inserting_before(node):
            full = traced.graph.call_function(
                torch.ops.aten.full.default, ([], constant.item()), options
            )
        full.meta["val"] = constant
        node.replace_all_uses_with(full)
        traced.graph.erase_node(node)


def _traced(implementation: Implementation, arguments: Any) -> tuple[GraphModule, list[int]]:
    """The operators that `implementation` calls with `arguments`, and which leaves of these the
    graph takes: tensors and symbolic numbers."""
    leaves, structure = tree_flatten(arguments)
    taken = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (torch.Tensor, torch.SymInt))]

    def compute(*given: Any) -> Any:
        whole = list(leaves)
        for i, value in zip(taken, given, strict=True):
            whole[i] = value
        return implementation(*tree_unflatten(whole, structure))

    with V.fake_mode, torch.no_grad():
        trace = make_fx(compute, select_decomp_table(), _allow_non_fake_inputs=True)
        traced = trace(*(leaves[i] for i in taken))
    _write_out_constants(traced)
    traced.graph.eliminate_dead_code()
    return traced, taken


def _lower_from(implementation: Implementation, arguments: tuple[Any, ...]) -> Any:
    """As Inductor lowers what `implementation` calls. `arguments` are Inductor's."""
    node = V.graph.current_node
    traced, taken = _traced(implementation, map_arg(tuple(node.args), _fake))
    values, _ = tree_flatten(arguments)
    results = lowering.process_subgraph_nodes(traced, [values[i] for i in taken])
    return tree_map(_as_promised, results, node.meta["val"])


def _as_promised(result: Any, fake: Any) -> Any:
    """Of float64, eager mode has a logsumexp in float64, and a compiled graph has it in float32."""
    return result if result is None else lowering.to_dtype(result, fake.dtype)


def _in_eager_mode(operator: Any) -> Implementation:
    found: Implementation = operator.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd]
    return found


def _differentiated(*arguments: Any) -> Any:
    """The backward operator in eager mode, which asks each tensor that score_mod uses whether it
    needs a gradient. In a compiled graph the joint graph says so: by its results."""
    *before, joint, mask, scale, options, of_score, of_mask = arguments
    (gradients,) = joint.graph.output_node().args
    of_score = tuple(
        used.detach().requires_grad_() if gradient is not None else used
        for used, gradient in zip(of_score, gradients[_ARGUMENTS_OF_SCORE_MOD:], strict=True)
    )
    return _in_eager_mode(_BACKWARD)(*before, joint, mask, scale, options, of_score, of_mask)


# ---- What is registered


def _takes_template(query: Any) -> bool:
    """For the operator that is being lowered. That the logsumexp is asked for says only that
    gradients were not turned off: what counts is whether it is used."""
    if not in_place.serves(query.get_device().type):
        return False
    results = V.graph.current_node.users
    others = any(each.args[1] != 0 and each.users for each in results)
    return not others and query.get_dtype() != torch.float64 and flex_cpu.check_cpu_supported()


def _lower_forward(of_torch: Implementation) -> Implementation:
    @functools.wraps(of_torch)
    def lower(query: Any, *rest: Any) -> Any:
        if not inductor.is_generated_here(query.get_device().type):
            return of_torch(query, *rest)
        if not _takes_template(query):
            return _lower_from(_in_eager_mode(_FORWARD), (query, *rest))
        *before, options, of_score, of_mask = rest
        options = {**options, "OUTPUT_LOGSUMEXP": False}
        return flex_attention.lower_cpu(query, *before, options, of_score, of_mask)

    return lower


def _lower_backward(of_torch: Implementation) -> Implementation:
    @functools.wraps(of_torch)
    def lower(query: Any, *rest: Any) -> Any:
        if not inductor.is_generated_here(query.get_device().type):
            return of_torch(query, *rest)
        return _lower_from(_differentiated, (query, *rest))

    return lower


def register() -> None:
    lowerings = lowering.lowerings
    lowerings[_FORWARD] = _lower_forward(lowerings[_FORWARD])
    lowerings[_BACKWARD] = _lower_backward(lowerings[_BACKWARD])
