// outback::to_backend of torch::nn modules and packed sequences, without Python.
#include <gmock/gmock.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>
#include <torch/optim/sgd.h>

#include "outback/nn.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

namespace nn = torch::nn;

class NnTest : public BackendTest {};

TEST_F(NnTest, EverythingMovesInPlace) {
  nn::Sequential module(nn::Linear(3, 4), nn::BatchNorm1d(4));
  const at::Tensor weight = module->parameters()[0];
  const at::Tensor before = weight.detach().clone();
  to_backend(*module, 1);
  for (const at::Tensor& tensor : module->parameters()) EXPECT_EQ(tensor.device(), device(1));
  for (const at::Tensor& tensor : module->buffers()) EXPECT_EQ(tensor.device(), device(1));
  EXPECT_TRUE(weight.is_same(module->parameters()[0])) << "the parameters are the same objects";
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  EXPECT_TRUE(weight.detach().cpu().equal(before));
  EXPECT_EQ(module->forward(at::rand({5, 3}).to(device(1))).device(), device(1));
}

TEST_F(NnTest, TorchsOwnMoveWorksToo) {
  nn::Linear module(2, 2);
  const at::Tensor weight = module->weight;
  module->to(device(1));
  EXPECT_EQ(weight.device(), device(1)) << "the parameter is the same object";
  module->to(at::kCPU);
  EXPECT_TRUE(weight.is_cpu());
  module->forward(at::ones({1, 2})).sum().backward();
  module->to(device(1));
  EXPECT_TRUE(weight.grad().is_cpu()) << "then outback/nn.h has nothing to add";
}

TEST_F(NnTest, SparseGradientsMove) {
  nn::Embedding module(nn::EmbeddingOptions(5, 2).sparse(true));
  module->forward(at::tensor({1, 3})).sum().backward();
  ASSERT_TRUE(module->weight.grad().is_sparse());
  to_backend(*module, 1);
  EXPECT_EQ(module->weight.device(), device(1));
  EXPECT_EQ(module->weight.grad().device(), device(1));
  EXPECT_TRUE(module->weight.grad().is_sparse());
}

TEST_F(NnTest, GradientsMoveAndTrainingGoesOn) {
  torch::manual_seed(0);
  nn::Linear module(3, 1);
  torch::optim::SGD optimizer(module->parameters(), 0.1);
  const at::Tensor x = at::rand({8, 3});
  module->forward(x).square().mean().backward();  // makes what collects the gradients
  to_backend(*module, 0);
  EXPECT_EQ(module->weight.grad().device(), device(0));
  const at::Tensor there = to_backend(x);
  const float first = module->forward(there).square().mean().item<float>();
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    module->forward(there).square().mean().backward();
    optimizer.step();
  }
  EXPECT_LT(module->forward(there).square().mean().item<float>(), first);
}

TEST_F(NnTest, TiedParametersStayTied) {
  nn::Linear first(2, 2);
  nn::Linear second(2, 2);
  second->weight = second->register_parameter("tied", first->weight);
  nn::Sequential module(first, second);
  to_backend(*module);
  EXPECT_TRUE(first->weight.is_same(second->weight));
  EXPECT_TRUE(is_backend(first->weight));
}

TEST_F(NnTest, ItMovesBetweenDevices) {
  nn::Linear module(2, 2);
  to_backend(*module, 0);
  const at::Tensor weight = module->weight;
  to_backend(*module, 0);
  EXPECT_TRUE(module->weight.is_same(weight));
  to_backend(*module, 1);
  EXPECT_EQ(module->weight.device(), device(1));
}

TEST_F(NnTest, WhenOneTensorCannotMoveNoneDoes) {
  nn::Linear module(2, 2);
  const int64_t too_many = static_cast<int64_t>(device_memory) / 4 + 1;
  module->register_buffer("large", at::empty({too_many}));
  EXPECT_THROW(to_backend(*module), c10::OutOfMemoryError);
  EXPECT_TRUE(module->weight.is_cpu());
  EXPECT_THROW(to_backend(*module, 5), c10::AcceleratorError);
}

TEST_F(NnTest, APackedSequenceMoves) {
  const auto packed = nn::utils::rnn::pack_padded_sequence(
      at::rand({4, 2, 3}), at::tensor({2, 4}), /*batch_first=*/false, /*enforce_sorted=*/false);
  EXPECT_FALSE(is_backend(packed));
  const auto there = to_backend(packed, 1);
  EXPECT_TRUE(is_backend(there));
  EXPECT_EQ(there.data().device(), device(1));
  EXPECT_EQ(there.sorted_indices().device(), device(1));
  EXPECT_EQ(there.unsorted_indices().device(), device(1));
  EXPECT_TRUE(there.batch_sizes().is_cpu());
  EXPECT_TRUE(there.data().cpu().equal(packed.data()));

  nn::LSTM lstm(3, 5);
  to_backend(*lstm, 1);
  const auto output = std::get<0>(lstm->forward_with_packed_input(there));
  EXPECT_EQ(output.data().device(), device(1));
}

}  // namespace
}  // namespace outback::test
