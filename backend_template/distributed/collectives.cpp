// The operations of the group, each as a value for `run`, and what a transport of torch's is called
// with for it.
#include <ATen/core/ATen_fwd.h>
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <tuple>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/checks.h"
#include "backend_template/distributed/process_group.h"
#include "backend_template/distributed/registrations.h"

namespace outback::distributed {
namespace {

using c10d::OpType;
using arguments = lent_arguments;

// The options of an operation with the reduction that was lent.
template <class Options>
Options with_reduction(Options options, const arguments& with) {
  options.reduceOp = with.reduction;
  return options;
}

// Torch's own derivative of gather scatters gradients as they are, which are expanded where they
// come from a sum.
tensors contiguous(const tensors& all) {
  tensors copies;
  for (const at::Tensor& each : all) {
    const bool is_ours = each.defined() && each.device().type() == core::device_type;
    const bool is_copied = is_ours && each.layout() == c10::kStrided;
    copies.push_back(is_copied ? each.detach().contiguous() : each);
  }
  return copies;
}

}  // namespace

work process_group::broadcast(tensors& all, const c10d::BroadcastOptions& options) {
  return run({.what = named("broadcast", OpType::BROADCAST),
              .outputs = {all},
              .of_outputs = options.rootRank == getRank() ? use::read : use::written,
              .lies = layout::dense,
              .rank = options.rootRank,
              .call = [options](Backend& of, arguments& with) {
                return of.broadcast(with.outputs[0], options);
              }});
}

// ---- Reducing in place

work process_group::allreduce(tensors& all, const c10d::AllreduceOptions& options) {
  return run({.what = named("all_reduce", OpType::ALLREDUCE),
              .outputs = {all},
              .of_outputs = use::both,
              .lies = layout::dense,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of.allreduce(with.outputs[0], with_reduction(options, with));
              }});
}

work process_group::allreduce_sparse(tensors& all, const c10d::AllreduceOptions& options) {
  return run({.what = named("all_reduce of sparse tensors", OpType::_ALLREDUCE_SPARSE),
              .outputs = {all},
              .of_outputs = use::both,
              .lies = layout::sparse,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of.allreduce(with.outputs[0], options);
              }});
}

work process_group::allreduce_coalesced(tensors& all,
                                        const c10d::AllreduceCoalescedOptions& options) {
  return run({.what = named("all_reduce_coalesced", OpType::ALLREDUCE_COALESCED),
              .outputs = {all},
              .of_outputs = use::both,
              .lies = layout::dense,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of.allreduce_coalesced(with.outputs[0], with_reduction(options, with));
              }});
}

work process_group::reduce(tensors& all, const c10d::ReduceOptions& options) {
  return run({.what = named("reduce", OpType::REDUCE),
              .outputs = {all},
              .of_outputs = use::both,
              .lies = layout::dense,
              .reduction = options.reduceOp,
              .rank = options.rootRank,
              .call = [options](Backend& of, arguments& with) {
                return of.reduce(with.outputs[0], with_reduction(options, with));
              }});
}

// ---- Gathering

work process_group::allgather(tensor_lists& outputs, tensors& inputs,
                              const c10d::AllgatherOptions& options) {
  return run({.what = named("all_gather", OpType::ALLGATHER),
              .outputs = outputs,
              .inputs = {inputs},
              .call = [options](Backend& of, arguments& with) {
                return of.allgather(with.outputs, with.inputs[0], options);
              }});
}

work process_group::_allgather_base(at::Tensor& output, at::Tensor& input,
                                    const c10d::AllgatherOptions& options) {
  return run({.what = named("all_gather_into_tensor", OpType::_ALLGATHER_BASE),
              .outputs = {{output}},
              .inputs = {{input}},
              .pairs = pairing::gathered,
              .call = [options](Backend& of, arguments& with) {
                return of._allgather_base(with.outputs[0][0], with.inputs[0][0], options);
              }});
}

work process_group::allgather_coalesced(tensor_lists& outputs, tensors& inputs,
                                        const c10d::AllgatherOptions& options) {
  return run({.what = named("all_gather_coalesced", OpType::ALLGATHER_COALESCED),
              .outputs = outputs,
              .inputs = {inputs},
              .call = [options](Backend& of, arguments& with) {
                return of.allgather_coalesced(with.outputs, with.inputs[0], options);
              }});
}

work process_group::allgather_into_tensor_coalesced(tensors& outputs, tensors& inputs,
                                                    const c10d::AllgatherOptions& options) {
  return run({.what = named("all_gather_into_tensor_coalesced", OpType::ALLGATHER_COALESCED),
              .outputs = {outputs},
              .inputs = {inputs},
              .pairs = pairing::gathered,
              .call = [options](Backend& of, arguments& with) {
                return of.allgather_into_tensor_coalesced(with.outputs[0], with.inputs[0], options);
              }});
}

work process_group::gather(tensor_lists& outputs, tensors& inputs,
                           const c10d::GatherOptions& options) {
  return run({.what = named("gather", OpType::GATHER),
              .outputs = outputs,
              .inputs = {inputs},
              .rank = options.rootRank,
              .call = [options](Backend& of, arguments& with) {
                return of.gather(with.outputs, with.inputs[0], options);
              }});
}

#if OUTBACK_TORCH_AT_LEAST(2, 14)
// Gloo has none: it gathers into the parts of the output.
work process_group::gather_single(at::Tensor& output, at::Tensor& input,
                                  const c10d::GatherOptions& options) {
  tensor_lists outputs;
  if (options.rootRank == getRank()) {
    const operation what = named("gather_single", OpType::GATHER);
    check_layout(what, {output}, layout::contiguous);
    check_parts(what, output, input, getSize());
    const at::Tensor rows = output.view({getSize(), input.numel()});
    tensors& parts = outputs.emplace_back();
    for (const at::Tensor& row : rows.unbind()) parts.push_back(row.view(input.sizes()));
  }
  tensors inputs{input};
  return gather(outputs, inputs, options);
}
#endif

// ---- Dividing

work process_group::scatter(tensors& outputs, tensor_lists& inputs,
                            const c10d::ScatterOptions& options) {
  tensor_lists sent;
  for (const tensors& each : inputs) sent.push_back(contiguous(each));
  return run({.what = named("scatter", OpType::SCATTER),
              .outputs = {outputs},
              .inputs = std::move(sent),
              .rank = options.rootRank,
              .call = [options](Backend& of, arguments& with) {
                return of.scatter(with.outputs[0], with.inputs, options);
              }});
}

work process_group::reduce_scatter(tensors& outputs, tensor_lists& inputs,
                                   const c10d::ReduceScatterOptions& options) {
  return run({.what = named("reduce_scatter", OpType::REDUCE_SCATTER),
              .outputs = {outputs},
              .inputs = inputs,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of.reduce_scatter(with.outputs[0], with.inputs,
                                         with_reduction(options, with));
              }});
}

work process_group::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                         const c10d::ReduceScatterOptions& options) {
  return run({.what = named("reduce_scatter_tensor", OpType::_REDUCE_SCATTER_BASE),
              .outputs = {{output}},
              .inputs = {{input}},
              .pairs = pairing::divided,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of._reduce_scatter_base(with.outputs[0][0], with.inputs[0][0],
                                               with_reduction(options, with));
              }});
}

work process_group::reduce_scatter_tensor_coalesced(tensors& outputs, tensors& inputs,
                                                    const c10d::ReduceScatterOptions& options) {
  // torch 2.11 has no OpType of its own for it.
  return run({.what = named("reduce_scatter_tensor_coalesced", OpType::_REDUCE_SCATTER_BASE),
              .outputs = {outputs},
              .inputs = {inputs},
              .pairs = pairing::divided,
              .reduction = options.reduceOp,
              .call = [options](Backend& of, arguments& with) {
                return of.reduce_scatter_tensor_coalesced(with.outputs[0], with.inputs[0],
                                                          with_reduction(options, with));
              }});
}

work process_group::alltoall(tensors& outputs, tensors& inputs,
                             const c10d::AllToAllOptions& options) {
  return run({.what = named("all_to_all", OpType::ALLTOALL),
              .outputs = {outputs},
              .inputs = {inputs},
              .call = [options](Backend& of, arguments& with) {
                return of.alltoall(with.outputs[0], with.inputs[0], options);
              }});
}

work process_group::alltoall_base(at::Tensor& output, at::Tensor& input,
                                  std::vector<int64_t>& output_splits,
                                  std::vector<int64_t>& input_splits,
                                  const c10d::AllToAllOptions& options) {
  return run({.what = named("all_to_all_single", OpType::ALLTOALL_BASE),
              .outputs = {{output}},
              .inputs = {{input}},
              .output_splits = output_splits,
              .input_splits = input_splits,
              .call = [to = output_splits, from = input_splits, options](Backend& of,
                                                                         arguments& with) mutable {
                return of.alltoall_base(with.outputs[0][0], with.inputs[0][0], to, from, options);
              }});
}

// ---- Between two processes

work process_group::send(tensors& all, int to, int tag) {
  return run({.what = named("send", OpType::SEND),
              .outputs = {all},
              .of_outputs = use::read,
              .rank = to,
              .call = [to, tag](Backend& of, arguments& with) {
                return of.send(with.outputs[0], to, tag);
              }});
}

work process_group::recv(tensors& all, int from, int tag) {
  return run({.what = named("recv", OpType::RECV),
              .outputs = {all},
              .rank = from,
              .call = [from, tag](Backend& of, arguments& with) {
                return of.recv(with.outputs[0], from, tag);
              }});
}

work process_group::recvAnysource(tensors& all, int tag) {
  return run({.what = named("recv from any rank", OpType::RECVANYSOURCE),
              .outputs = {all},
              .call = [tag](Backend& of, arguments& with) {
                return of.recvAnysource(with.outputs[0], tag);
              }});
}

// ---- Without tensors

work process_group::barrier(const c10d::BarrierOptions& options) {
  collective wanted{.what = named("barrier", OpType::BARRIER),
                    .call = [options](Backend& of, arguments& with) {
                      c10d::BarrierOptions theirs = options;  // which would name our devices
                      theirs.device = with.device;
                      theirs.device_ids.clear();
                      return of.barrier(theirs);
                    }};
  // Before the backend has started there is no work that the barrier is behind.
  if (!core::is_started()) return transport_->begin_on_cpu(wanted);
  c10::Device device(core::device_type, core::current_device());
  if (options.device && options.device->type() == core::device_type && options.device->has_index())
    device = *options.device;
  if (const auto bound = getBoundDeviceId()) device = *bound;
  transport_->check(wanted, device);
  return transport_->begin(std::move(wanted), device);
}

void process_group::monitoredBarrier(const c10d::BarrierOptions& options, bool all_ranks) {
  transport_->monitored_barrier(named("monitored_barrier", OpType::BARRIER), options, all_ranks);
}

// ---- What torch registers for its own sparse devices only

namespace {

std::tuple<tensors, work> allreduce_sparse(at::TensorList all,
                                           const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                           const c10::intrusive_ptr<c10d::ReduceOp>& reduction,
                                           const std::optional<at::Tensor>& indices, bool async_op,
                                           int64_t timeout) {
  tensors given = all.vec();
  c10d::AllreduceOptions options;
  options.reduceOp = *reduction;
  options.timeout = std::chrono::milliseconds(timeout);
  options.asyncOp = async_op;
  options.sparseIndices = indices;
  auto made = group->getBackend(core::device_type)->allreduce_sparse(given, options);
  return {std::move(given), std::move(made)};
}

}  // namespace

void register_sparse_kernels() {
  // Leaked: a torch::Library takes its kernels back at its end.
  auto& kernels = *new torch::Library(torch::Library::IMPL, "c10d",
                                      c10::DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
  kernels.impl("allreduce_", &allreduce_sparse);
}

}  // namespace outback::distributed
