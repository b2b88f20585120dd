// The operations of a group over NCCL. Each checks its tensors, lends them, and calls NCCL's own.
#include <ATen/core/LegacyTypeDispatch.h>

#include <utility>

#include "backend_template/distributed/nccl/checks.h"
#include "backend_template/distributed/nccl/loans.h"
#include "backend_template/distributed/twin_group.h"

namespace outback::distributed {
namespace {

using c10d::OpType;
using tensors = twin_group::tensors;
using tensor_lists = twin_group::tensor_lists;

// With the factor of the reduction lent too.
template <class Options>
Options with_lent_factor(const Options& options) {
  Options lent = options;
  lent.reduceOp = lend_to_twin(options.reduceOp);
  return lent;
}

}  // namespace

void twin_group::check(const operation& what, const tensors& all, layout wanted) const {
  check_on_twin(what, all, wanted, getBoundDeviceId());
}

// `call` may refuse what it is given: then the exception is the caller's as it is.
template <class Call>
twin_group::work twin_group::run(operation what, c10::Device device, tensor_lists outputs,
                                 const Call& call) {
  work theirs;
  try {
    // The loans are no views of the device's tensors for autograd, and nobody derives a transport.
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    theirs = call();
  } catch (const c10::DistBackendError&) {
    std::rethrow_exception(what.failed(std::current_exception()));
  }
  return wrapped(std::move(what), std::move(theirs), device, std::move(outputs));
}

twin_group::work twin_group::broadcast(tensors& all, const c10d::BroadcastOptions& options) {
  operation what = named("broadcast", OpType::BROADCAST);
  check(what, all, layout::dense);
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::moved);
    return transport_->broadcast(lent, options);
  });
}

twin_group::work twin_group::allreduce(tensors& all, const c10d::AllreduceOptions& options) {
  operation what = named("all_reduce", OpType::ALLREDUCE);
  check(what, all, layout::dense);
  check_nccl_reduction(what, options.reduceOp, all[0].scalar_type());
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::reduced);
    return transport_->allreduce(lent, with_lent_factor(options));
  });
}

twin_group::work twin_group::allreduce_coalesced(tensors& all,
                                                 const c10d::AllreduceCoalescedOptions& options) {
  operation what = named("all_reduce_coalesced", OpType::ALLREDUCE_COALESCED);
  check(what, all, layout::dense);
  check_same_dtype(what, all);
  check_nccl_reduction(what, options.reduceOp, all[0].scalar_type());
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::reduced);
    return transport_->allreduce_coalesced(lent, with_lent_factor(options));
  });
}

twin_group::work twin_group::reduce(tensors& all, const c10d::ReduceOptions& options) {
  operation what = named("reduce", OpType::REDUCE);
  check(what, all, layout::dense);
  check_nccl_reduction(what, options.reduceOp, all[0].scalar_type());
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::reduced);
    return transport_->reduce(lent, with_lent_factor(options));
  });
}

// ---- Gathering

twin_group::work twin_group::allgather(tensor_lists& outputs, tensors& inputs,
                                       const c10d::AllgatherOptions& options) {
  operation what = named("all_gather", OpType::ALLGATHER);
  const tensors all = joined(flat(outputs), inputs);
  check(what, all, layout::contiguous);
  check_same_dtype(what, all);
  return run(std::move(what), all[0].device(), outputs, [&] {
    tensors sent = lend_to_twin(inputs, elements::moved);
    tensor_lists received = lend_to_twin(outputs, elements::moved);
    return transport_->allgather(received, sent, options);
  });
}

twin_group::work twin_group::_allgather_base(at::Tensor& output, at::Tensor& input,
                                             const c10d::AllgatherOptions& options) {
  operation what = named("all_gather_into_tensor", OpType::_ALLGATHER_BASE);
  check(what, {output, input}, layout::contiguous);
  check_same_dtype(what, {output, input});
  return run(std::move(what), output.device(), {{output}}, [&] {
    at::Tensor sent = lend_to_twin(input, elements::moved);
    at::Tensor received = lend_to_twin(output, elements::moved);
    return transport_->_allgather_base(received, sent, options);
  });
}

twin_group::work twin_group::allgather_into_tensor_coalesced(
    tensors& outputs, tensors& inputs, const c10d::AllgatherOptions& options) {
  operation what = named("all_gather_into_tensor_coalesced", OpType::ALLGATHER_COALESCED);
  check(what, joined(outputs, inputs), layout::contiguous);
  check_pairs(what, outputs, inputs);
  return run(std::move(what), outputs[0].device(), {outputs}, [&] {
    tensors sent = lend_to_twin(inputs, elements::moved);
    tensors received = lend_to_twin(outputs, elements::moved);
    return transport_->allgather_into_tensor_coalesced(received, sent, options);
  });
}

twin_group::work twin_group::gather(tensor_lists& outputs, tensors& inputs,
                                    const c10d::GatherOptions& options) {
  operation what = named("gather", OpType::GATHER);
  const tensors all = joined(inputs, flat(outputs));
  check(what, all, layout::contiguous);
  check_same_dtype(what, all);
  return run(std::move(what), all[0].device(), outputs, [&] {
    tensors sent = lend_to_twin(inputs, elements::moved);
    tensor_lists received = lend_to_twin(outputs, elements::moved);
    return transport_->gather(received, sent, options);
  });
}

// ---- Dividing

twin_group::work twin_group::scatter(tensors& outputs, tensor_lists& inputs,
                                     const c10d::ScatterOptions& options) {
  operation what = named("scatter", OpType::SCATTER);
  const tensors all = joined(outputs, flat(inputs));
  check(what, all, layout::contiguous);
  check_same_dtype(what, all);
  return run(std::move(what), all[0].device(), {outputs}, [&] {
    tensor_lists sent = lend_to_twin(inputs, elements::moved);
    tensors received = lend_to_twin(outputs, elements::moved);
    return transport_->scatter(received, sent, options);
  });
}

twin_group::work twin_group::reduce_scatter(tensors& outputs, tensor_lists& inputs,
                                            const c10d::ReduceScatterOptions& options) {
  operation what = named("reduce_scatter", OpType::REDUCE_SCATTER);
  const tensors all = joined(outputs, flat(inputs));
  check(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_nccl_reduction(what, options.reduceOp, all[0].scalar_type());
  return run(std::move(what), all[0].device(), {outputs}, [&] {
    tensor_lists sent = lend_to_twin(inputs, elements::reduced);
    tensors received = lend_to_twin(outputs, elements::reduced);
    return transport_->reduce_scatter(received, sent, with_lent_factor(options));
  });
}

twin_group::work twin_group::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                  const c10d::ReduceScatterOptions& options) {
  operation what = named("reduce_scatter_tensor", OpType::_REDUCE_SCATTER_BASE);
  check(what, {output, input}, layout::contiguous);
  check_same_dtype(what, {output, input});
  check_nccl_reduction(what, options.reduceOp, output.scalar_type());
  return run(std::move(what), output.device(), {{output}}, [&] {
    at::Tensor sent = lend_to_twin(input, elements::reduced);
    at::Tensor received = lend_to_twin(output, elements::reduced);
    return transport_->_reduce_scatter_base(received, sent, with_lent_factor(options));
  });
}

twin_group::work twin_group::reduce_scatter_tensor_coalesced(
    tensors& outputs, tensors& inputs, const c10d::ReduceScatterOptions& options) {
  // torch 2.11 has no OpType of its own for it.
  operation what = named("reduce_scatter_tensor_coalesced", OpType::_REDUCE_SCATTER_BASE);
  check(what, joined(outputs, inputs), layout::contiguous);
  check_pairs(what, outputs, inputs);
  for (const at::Tensor& each : inputs) {
    check_nccl_reduction(what, options.reduceOp, each.scalar_type());
  }
  return run(std::move(what), outputs[0].device(), {outputs}, [&] {
    tensors sent = lend_to_twin(inputs, elements::reduced);
    tensors received = lend_to_twin(outputs, elements::reduced);
    return transport_->reduce_scatter_tensor_coalesced(received, sent, with_lent_factor(options));
  });
}

twin_group::work twin_group::alltoall(tensors& outputs, tensors& inputs,
                                      const c10d::AllToAllOptions& options) {
  operation what = named("all_to_all", OpType::ALLTOALL);
  const tensors all = joined(outputs, inputs);
  check(what, all, layout::contiguous);
  check_same_dtype(what, all);
  return run(std::move(what), all[0].device(), {outputs}, [&] {
    tensors sent = lend_to_twin(inputs, elements::moved);
    tensors received = lend_to_twin(outputs, elements::moved);
    return transport_->alltoall(received, sent, options);
  });
}

twin_group::work twin_group::alltoall_base(at::Tensor& output, at::Tensor& input,
                                           std::vector<int64_t>& output_splits,
                                           std::vector<int64_t>& input_splits,
                                           const c10d::AllToAllOptions& options) {
  operation what = named("all_to_all_single", OpType::ALLTOALL_BASE);
  check(what, {output, input}, layout::contiguous);
  check_same_dtype(what, {output, input});
  return run(std::move(what), output.device(), {{output}}, [&] {
    at::Tensor sent = lend_to_twin(input, elements::rows);
    at::Tensor received = lend_to_twin(output, elements::rows);
    return transport_->alltoall_base(received, sent, output_splits, input_splits, options);
  });
}

// ---- Between two processes

twin_group::work twin_group::send(tensors& all, int to, int tag) {
  operation what = named("send", OpType::SEND);
  check(what, all, layout::contiguous);
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::moved);
    return transport_->send(lent, to, tag);
  });
}

twin_group::work twin_group::recv(tensors& all, int from, int tag) {
  operation what = named("recv", OpType::RECV);
  check(what, all, layout::contiguous);
  return run(std::move(what), all[0].device(), {all}, [&] {
    tensors lent = lend_to_twin(all, elements::moved);
    return transport_->recv(lent, from, tag);
  });
}

}  // namespace outback::distributed
