// The operations of the group. Each checks its tensors, lends them, and hands the transport's own
// operation to process_group::run.
#include <utility>
#include <vector>

#include "backend_template/distributed/checks.h"
#include "backend_template/distributed/gloo/joint_work.h"
#include "backend_template/distributed/gloo/pieces.h"
#include "backend_template/distributed/process_group.h"

namespace outback::distributed {
namespace {

using c10d::OpType;
using tensors = process_group::tensors;
using tensor_lists = process_group::tensor_lists;

// What only moves goes as bytes where Gloo does not have the dtype.
form form_of(const at::Tensor& tensor) {
  return has_dtype(tensor.scalar_type()) ? form::elements : form::bytes;
}

tensors lend_moved(loans& lent, const tensors& all, use how) {
  tensors hosts;
  hosts.reserve(all.size());
  for (const at::Tensor& each : all) hosts.push_back(lent.lend(each, how, form_of(each)));
  return hosts;
}

// Torch's own derivative of gather scatters gradients as they are, which are expanded where they
// come from a sum.
tensors contiguous(const tensors& all) {
  tensors copies;
  copies.reserve(all.size());
  for (const at::Tensor& each : all) copies.push_back(each.detach().contiguous());
  return copies;
}

tensor_lists lend_moved(loans& lent, const tensor_lists& all, use how) {
  tensor_lists hosts;
  hosts.reserve(all.size());
  for (const tensors& each : all) hosts.push_back(lend_moved(lent, each, how));
  return hosts;
}

// What is divided and what is a part of it. Gloo divides the first dimension, of which a part has
// the same rows, or ends the process if there is none. Contiguous tensors of one dimension are the
// same memory for each shape that torch allows.
void flatten(at::Tensor& whole, at::Tensor& part) {
  whole = whole.view(-1);
  part = part.view(-1);
}

}  // namespace

process_group::work process_group::broadcast(tensors& all, const c10d::BroadcastOptions& options) {
  operation what = named("broadcast", OpType::BROADCAST);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->broadcast(all, options); });
  check_layout(what, all, layout::dense);
  check_same_dtype(what, all);
  check_rank(what, options.rootRank);
  loans lent = loans_of(all[0]);
  const bool sends = options.rootRank == getRank();
  tensors hosts = lend_moved(lent, all, sends ? use::read : use::written);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->broadcast(hosts, options); });
}

process_group::work process_group::allreduce(tensors& all, const c10d::AllreduceOptions& options) {
  operation what = named("all_reduce", OpType::ALLREDUCE);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->allreduce(all, options); });
  check_layout(what, all, layout::dense);
  check_same_dtype(what, all);
  check_reduction(what, options.reduceOp, all[0].scalar_type());
  const tensors pieces = all.size() == 1 ? pieces_of(all[0]) : tensors();
  if (pieces.size() <= 1) return reduce_all(std::move(what), all, options);
  return reduce_pieces(what, all, pieces, options);
}

process_group::work process_group::reduce_pieces(const operation& what, const tensors& all,
                                                 const tensors& pieces,
                                                 const c10d::AllreduceOptions& options) {
  // All are lent before the first begins: where memory is short, nothing has been sent.
  std::vector<std::pair<loans, tensors>> lent;
  for (const at::Tensor& piece : pieces) {
    loans mine = loans_of(piece);
    tensors hosts = mine.lend(at::TensorList(piece), use::both, form::numbers);
    lent.emplace_back(std::move(mine), std::move(hosts));
  }
  joint_work::works parts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    parts.push_back(run(what, std::move(lent[i].first), {{pieces[i]}},
                        [hosts = std::move(lent[i].second), options, this]() mutable {
                          return transport_->allreduce(hosts, options);
                        }));
  }
  return c10::make_intrusive<joint_work>(std::move(parts), getRank(), what.type, all,
                                         lanes_.of(all[0].device().index()).back);
}

process_group::work process_group::reduce_all(operation what, const tensors& all,
                                              const c10d::AllreduceOptions& options) {
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::both, form::numbers);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->allreduce(hosts, options); });
}

process_group::work process_group::allreduce_coalesced(
    tensors& all, const c10d::AllreduceCoalescedOptions& options) {
  operation what = named("all_reduce_coalesced", OpType::ALLREDUCE_COALESCED);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->allreduce_coalesced(all, options); });
  check_layout(what, all, layout::dense);
  check_same_dtype(what, all);
  check_reduction(what, options.reduceOp, all[0].scalar_type());
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::both, form::numbers);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->allreduce_coalesced(hosts, options); });
}

process_group::work process_group::reduce(tensors& all, const c10d::ReduceOptions& options) {
  operation what = named("reduce", OpType::REDUCE);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->reduce(all, options); });
  check_layout(what, all, layout::dense);
  check_same_dtype(what, all);
  check_rank(what, options.rootRank);
  check_reduction(what, options.reduceOp, all[0].scalar_type());
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::both, form::numbers);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->reduce(hosts, options); });
}

// ---- Gathering

process_group::work process_group::allgather(tensor_lists& outputs, tensors& inputs,
                                             const c10d::AllgatherOptions& options) {
  operation what = named("all_gather", OpType::ALLGATHER);
  const tensors all = joined(flat(outputs), inputs);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->allgather(outputs, inputs, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  loans lent = loans_of(all[0]);
  tensors sent = lend_moved(lent, inputs, use::read);
  tensor_lists received = lend_moved(lent, outputs, use::written);
  return run(std::move(what), std::move(lent), outputs,
             [=, this]() mutable { return transport_->allgather(received, sent, options); });
}

process_group::work process_group::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                   const c10d::AllgatherOptions& options) {
  operation what = named("all_gather_into_tensor", OpType::_ALLGATHER_BASE);
  const tensors all{output, input};
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->_allgather_base(output, input, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_parts(what, output, input, getSize());
  at::Tensor to = output, from = input;
  flatten(to, from);
  loans lent = loans_of(output);
  at::Tensor sent = lent.lend(from, use::read, form_of(from));
  at::Tensor received = lent.lend(to, use::written, form_of(to));
  return run(std::move(what), std::move(lent), {{output}},
             [=, this]() mutable { return transport_->_allgather_base(received, sent, options); });
}

process_group::work process_group::allgather_coalesced(tensor_lists& outputs, tensors& inputs,
                                                       const c10d::AllgatherOptions& options) {
  operation what = named("all_gather_coalesced", OpType::ALLGATHER_COALESCED);
  const tensors all = joined(flat(outputs), inputs);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->allgather_coalesced(outputs, inputs, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  loans lent = loans_of(all[0]);
  tensors sent = lend_moved(lent, inputs, use::read);
  tensor_lists received = lend_moved(lent, outputs, use::written);
  return run(std::move(what), std::move(lent), outputs, [=, this]() mutable {
    return transport_->allgather_coalesced(received, sent, options);
  });
}

process_group::work process_group::allgather_into_tensor_coalesced(
    tensors& outputs, tensors& inputs, const c10d::AllgatherOptions& options) {
  operation what = named("all_gather_into_tensor_coalesced", OpType::ALLGATHER_COALESCED);
  const tensors all = joined(outputs, inputs);
  if (are_on_cpu(what, all, getBoundDeviceId())) {
    return on_cpu(
        [&] { return transport_->allgather_into_tensor_coalesced(outputs, inputs, options); });
  }
  check_layout(what, all, layout::contiguous);
  check_pairs(what, outputs, inputs);
  tensors to = outputs, from = inputs;
  for (size_t i = 0; i < to.size(); ++i) {
    check_parts(what, to[i], from[i], getSize());
    flatten(to[i], from[i]);
  }
  loans lent = loans_of(all[0]);
  tensors sent = lend_moved(lent, from, use::read);
  tensors received = lend_moved(lent, to, use::written);
  return run(std::move(what), std::move(lent), {outputs}, [=, this]() mutable {
    return transport_->allgather_into_tensor_coalesced(received, sent, options);
  });
}

process_group::work process_group::gather(tensor_lists& outputs, tensors& inputs,
                                          const c10d::GatherOptions& options) {
  operation what = named("gather", OpType::GATHER);
  const tensors all = joined(flat(outputs), inputs);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->gather(outputs, inputs, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_rank(what, options.rootRank);
  loans lent = loans_of(all[0]);
  tensors sent = lend_moved(lent, inputs, use::read);
  tensor_lists received = lend_moved(lent, outputs, use::written);
  return run(std::move(what), std::move(lent), outputs,
             [=, this]() mutable { return transport_->gather(received, sent, options); });
}

#if OUTBACK_TORCH_AT_LEAST(2, 14)
// Gloo has none: it gathers into the parts of the output.
process_group::work process_group::gather_single(at::Tensor& output, at::Tensor& input,
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

process_group::work process_group::scatter(tensors& outputs, tensor_lists& inputs,
                                           const c10d::ScatterOptions& options) {
  operation what = named("scatter", OpType::SCATTER);
  const tensors all = joined(outputs, flat(inputs));
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->scatter(outputs, inputs, options); });
  check_layout(what, outputs, layout::contiguous);
  check_layout(what, flat(inputs), layout::any);
  check_same_dtype(what, all);
  check_rank(what, options.rootRank);
  loans lent = loans_of(all[0]);
  tensor_lists sent;
  for (const tensors& each : inputs) sent.push_back(lend_moved(lent, contiguous(each), use::read));
  tensors received = lend_moved(lent, outputs, use::written);
  return run(std::move(what), std::move(lent), {outputs},
             [=, this]() mutable { return transport_->scatter(received, sent, options); });
}

process_group::work process_group::reduce_scatter(tensors& outputs, tensor_lists& inputs,
                                                  const c10d::ReduceScatterOptions& options) {
  operation what = named("reduce_scatter", OpType::REDUCE_SCATTER);
  const tensors all = joined(outputs, flat(inputs));
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->reduce_scatter(outputs, inputs, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_reduction(what, options.reduceOp, all[0].scalar_type());
  loans lent = loans_of(all[0]);
  tensor_lists sent;
  for (const tensors& each : inputs) sent.push_back(lent.lend(each, use::read, form::numbers));
  tensors received = lent.lend(outputs, use::written, form::numbers);
  return run(std::move(what), std::move(lent), {outputs},
             [=, this]() mutable { return transport_->reduce_scatter(received, sent, options); });
}

process_group::work process_group::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                        const c10d::ReduceScatterOptions& options) {
  operation what = named("reduce_scatter_tensor", OpType::_REDUCE_SCATTER_BASE);
  const tensors all{output, input};
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->_reduce_scatter_base(output, input, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_reduction(what, options.reduceOp, output.scalar_type());
  check_parts(what, input, output, getSize());
  at::Tensor from = input, to = output;
  flatten(from, to);
  loans lent = loans_of(output);
  at::Tensor sent = lent.lend(from, use::read, form::numbers);
  at::Tensor received = lent.lend(to, use::written, form::numbers);
  return run(std::move(what), std::move(lent), {{output}}, [=, this]() mutable {
    return transport_->_reduce_scatter_base(received, sent, options);
  });
}

process_group::work process_group::reduce_scatter_tensor_coalesced(
    tensors& outputs, tensors& inputs, const c10d::ReduceScatterOptions& options) {
  // torch 2.11 has no OpType of its own for it.
  operation what = named("reduce_scatter_tensor_coalesced", OpType::_REDUCE_SCATTER_BASE);
  const tensors all = joined(outputs, inputs);
  if (are_on_cpu(what, all, getBoundDeviceId())) {
    return on_cpu(
        [&] { return transport_->reduce_scatter_tensor_coalesced(outputs, inputs, options); });
  }
  check_layout(what, all, layout::contiguous);
  check_pairs(what, outputs, inputs);
  for (const at::Tensor& each : inputs) check_reduction(what, options.reduceOp, each.scalar_type());
  tensors from = inputs, to = outputs;
  for (size_t i = 0; i < from.size(); ++i) {
    check_parts(what, from[i], to[i], getSize());
    flatten(from[i], to[i]);
  }
  loans lent = loans_of(all[0]);
  tensors sent = lent.lend(from, use::read, form::numbers);
  tensors received = lent.lend(to, use::written, form::numbers);
  return run(std::move(what), std::move(lent), {outputs}, [=, this]() mutable {
    return transport_->reduce_scatter_tensor_coalesced(received, sent, options);
  });
}

process_group::work process_group::alltoall(tensors& outputs, tensors& inputs,
                                            const c10d::AllToAllOptions& options) {
  operation what = named("all_to_all", OpType::ALLTOALL);
  const tensors all = joined(outputs, inputs);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->alltoall(outputs, inputs, options); });
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  loans lent = loans_of(all[0]);
  tensors sent = lend_moved(lent, inputs, use::read);
  tensors received = lend_moved(lent, outputs, use::written);
  return run(std::move(what), std::move(lent), {outputs},
             [=, this]() mutable { return transport_->alltoall(received, sent, options); });
}

process_group::work process_group::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                 std::vector<int64_t>& output_splits,
                                                 std::vector<int64_t>& input_splits,
                                                 const c10d::AllToAllOptions& options) {
  operation what = named("all_to_all_single", OpType::ALLTOALL_BASE);
  const tensors all{output, input};
  if (are_on_cpu(what, all, getBoundDeviceId())) {
    return on_cpu([&] {
      return transport_->alltoall_base(output, input, output_splits, input_splits, options);
    });
  }
  check_layout(what, all, layout::contiguous);
  check_same_dtype(what, all);
  check_splits(what, output, output_splits);
  check_splits(what, input, input_splits);
  check_rows(what, output, input);
  loans lent = loans_of(output);
  at::Tensor sent = lent.lend(input, use::read, form_of(input));
  at::Tensor received = lent.lend(output, use::written, form_of(output));
  return run(std::move(what), std::move(lent), {{output}}, [=, this]() mutable {
    return transport_->alltoall_base(received, sent, output_splits, input_splits, options);
  });
}

// ---- Between two processes

process_group::work process_group::send(tensors& all, int to, int tag) {
  operation what = named("send", OpType::SEND);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->send(all, to, tag); });
  check_layout(what, all, layout::contiguous);
  check_rank(what, to);
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::read);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->send(hosts, to, tag); });
}

process_group::work process_group::recv(tensors& all, int from, int tag) {
  operation what = named("recv", OpType::RECV);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->recv(all, from, tag); });
  check_layout(what, all, layout::contiguous);
  check_rank(what, from);
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::written);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->recv(hosts, from, tag); });
}

process_group::work process_group::recvAnysource(tensors& all, int tag) {
  operation what = named("recv from any rank", OpType::RECVANYSOURCE);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->recvAnysource(all, tag); });
  check_layout(what, all, layout::contiguous);
  loans lent = loans_of(all[0]);
  tensors hosts = lent.lend(all, use::written);
  return run(std::move(what), std::move(lent), {all},
             [=, this]() mutable { return transport_->recvAnysource(hosts, tag); });
}

}  // namespace outback::distributed
