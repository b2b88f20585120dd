// The engine that runs another device type's kernels on the device's tensors (ops/in_place): what
// is lent, what comes back, and who owns the memory meanwhile. Two programs run these tests: with
// the CPU as target, and with a twin, whose tensors are lent on the device of the same index and
// whose results come from its own allocator.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/sparse_members.h"
#include "tests/core/test_backend.h"
#include "tests/ops/engine_target.h"

namespace outback::test {
namespace {

using ops::access;
using ops::kernel_call;
using ::testing::HasSubstr;

class EngineTest : public BackendTest {
 protected:
  static void SetUpTestSuite() {
    register_engine_target();
    register_backend({.name = "acme", .runtime = &engine_runtime()});
  }
  static at::TensorOptions on(int index = 0) { return at::TensorOptions().device(device(index)); }
  static at::Tensor numbers(int index = 0) {
    return at::arange(24, at::kFloat).view({4, 6}).to(device(index));
  }
};

const ops::kernel_target& target() {
  return ops::target_of(0);
}

at::Tensor dense_on_cpu(const at::Tensor& tensor) {
  if (tensor.is_quantized()) return tensor.int_repr().cpu();
  return tensor.layout() == at::kStrided ? tensor.cpu() : tensor.to_dense().cpu();
}

// The same program for the CPU's tensors and for the device's.
using program = std::function<std::vector<at::Tensor>(c10::Device)>;

at::Tensor some(c10::Device device) {
  return at::arange(-12, 12, at::kFloat).view({4, 6}).to(device);
}

const std::vector<std::pair<std::string, program>>& programs() {
  using tensors = std::vector<at::Tensor>;
  static const auto& all = *new std::vector<std::pair<std::string, program>>{
      {"one dtype", [](auto d) -> tensors { return {some(d) + some(d)}; }},
      {"two dtypes", [](auto d) -> tensors { return {some(d) + some(d).to(at::kDouble)}; }},
      {"a number", [](auto d) -> tensors { return {some(d).add(2), 1 - some(d)}; }},
      {"in place", [](auto d) -> tensors { return {some(d).mul_(some(d)).erfinv_()}; }},
      {"transposed", [](auto d) -> tensors { return {some(d).t().cumsum(0).abs()}; }},
      {"matrices",
       [](auto d) -> tensors { return {some(d).mm(some(d).t()), some(d).t().mm(some(d))}; }},
      {"two results",
       [](auto d) -> tensors {
         auto [values, indices] = some(d).sort(1, /*descending=*/true);
         return {values, indices};
       }},
      {"a list", [](auto d) -> tensors { return {at::cat({some(d), some(d).to(at::kHalf)}, 1)}; }},
      {"a list of results",
       [](auto d) -> tensors { return at::_foreach_mul({some(d), some(d)}, 3); }},
      {"a list with gaps",
       [](auto d) -> tensors {
         const at::Tensor at_columns = at::tensor({5, 0, 0}, at::kLong).to(d);
         const c10::List<std::optional<at::Tensor>> indices({std::nullopt, at_columns});
         return {at::index(some(d), indices)};
       }},
      {"conjugated",
       [](auto d) -> tensors {
         const at::Tensor z = at::complex(some(d), some(d));
         return {z.conj().mul(z), at::real(z.conj()).add(1), at::imag(z.conj()).add(1)};
       }},
      {"a Device argument",
       [](auto d) -> tensors {
         return {at::tril_indices(3, 4, 0, at::device(d).dtype(at::kLong))};
       }},
      {"nothing", [](auto d) -> tensors { return {at::empty({0, 4}, at::device(d)).sum(0)}; }},
      {"a growing result",
       [](auto d) -> tensors {
         at::Tensor out = at::empty({0}, at::device(d));
         at::erf_out(out, some(d));
         return {out.add_(1), out.narrow(0, 1, 2)};
       }},
      {"a long list, of one storage and with a tensor twice",
       [](auto d) -> tensors {
         const at::Tensor all = some(d).clone();
         tensors list = all.view({24}).split(1);
         list.push_back(some(d));
         list.push_back(list[3]);
         at::_foreach_mul_(list, 3);
         return {all, list[24]};
       }},
      {"a long list of results that grow",
       [](auto d) -> tensors {
         tensors results;
         for (int i = 0; i < 24; ++i) results.push_back(at::empty({0}, at::device(d)));
         at::split_copy_out(results, some(d).view({24}), 1);
         return {at::cat(results), results[23]};
       }},
      {"a view as result",
       [](auto d) -> tensors {
         const at::Tensor all = some(d).clone();
         at::Tensor row = all.select(0, 1);
         at::erf_out(row, some(d).select(0, 2));
         return {all};
       }},
      {"sparse",
       [](auto d) -> tensors {
         const at::Tensor x = some(d).relu().to_sparse();
         return {x, x.mul(2), at::mm(x, some(d).t()), x.coalesce().sqrt_()};
       }},
      {"compressed",
       [](auto d) -> tensors {
         const at::Tensor x = some(d).relu().to_sparse_csr();
         return {x, x.mul(2)};
       }},
      {"quantized",
       [](auto d) -> tensors {
         const at::Tensor x = at::quantize_per_tensor(some(d), 0.5, 1, at::kQInt8);
         return {x, x.dequantize(), x.view({6, 4})};
       }},
      {"nested",
       [](auto d) -> tensors {
         const at::Tensor x =
             at::_nested_tensor_from_tensor_list({some(d), some(d).narrow(0, 0, 2)});
         return {at::nested_to_padded_tensor(x.mul(x), 0)};
       }},
      {"a convolution",
       [](auto d) -> tensors {
         return {at::conv1d(some(d).view({1, 4, 6}), some(d).narrow(0, 0, 2).view({1, 4, 3}))};
       }},
      {"a derivative",
       [](auto d) -> tensors {
         const at::Tensor x = some(d).requires_grad_();
         at::erf(x).cumsum(1).sum().backward();
         return {x.grad()};
       }},
  };
  return all;
}

TEST_F(EngineTest, ProgramsGiveWhatTheCpuGives) {
  for (const auto& [name, run] : programs()) {
    SCOPED_TRACE(name);
    const std::vector<at::Tensor> expected = run(c10::Device(c10::kCPU));
    for (const int index : {0, 1}) {
      const std::vector<at::Tensor> results = run(device(index));
      ASSERT_EQ(results.size(), expected.size());
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].device(), device(index));
        EXPECT_EQ(results[i].scalar_type(), expected[i].scalar_type());
        EXPECT_EQ(results[i].layout(), expected[i].layout());
        EXPECT_TRUE(at::allclose(dense_on_cpu(results[i]), dense_on_cpu(expected[i]), 0, 0, true));
      }
    }
  }
}

TEST_F(EngineTest, TheTargetsKernelsRunAndItsMemoryIsAdopted) {
  const bool is_cpu = target().type == c10::kCPU;
  const at::Tensor x = numbers();
  at::Tensor grown = at::empty({0}, on());
  const int kernels = target_kernels_run();
  const int64_t bytes = target_bytes_allocated();
  const at::Tensor result = at::erfinv(x);
  EXPECT_TRUE(is_cpu || target_kernels_run() == kernels + 1);
  EXPECT_TRUE(is_cpu || target_bytes_allocated() == bytes + 24 * 4) << "not copied";
  at::erfinv_out(grown, x);
  EXPECT_TRUE(is_cpu || target_bytes_allocated() == bytes + 2 * 24 * 4) << "not copied";
}

// ---- What an alias is

struct kind {
  const char* name;
  std::function<at::Tensor(c10::Device)> make;
};

const std::vector<kind>& kinds() {
  static const auto& all = *new std::vector<kind>{
      {"strided", [](auto d) { return some(d); }},
      {"a view", [](auto d) { return some(d).t().narrow(0, 1, 2); }},
      {"conjugated", [](auto d) { return at::complex(some(d), some(d)).conj(); }},
      {"sparse", [](auto d) { return some(d).to_sparse(); }},
      {"compressed", [](auto d) { return some(d).to_sparse_csr(); }},
      {"quantized", [](auto d) { return at::quantize_per_tensor(some(d), 0.5, 1, at::kQInt8); }},
      {"nested",
       [](auto d) {
         return at::_nested_tensor_from_tensor_list({some(d), some(d).narrow(0, 0, 2)});
       }},
  };
  return all;
}

enum class grad_mode : uint8_t { grad, no_grad, inference };

class mode_guard {
 public:
  explicit mode_guard(grad_mode mode)
      : inference_(mode == grad_mode::inference), grad_(mode == grad_mode::grad) {}

 private:
  c10::InferenceMode inference_;  // first, since it sets the other one too
  c10::AutoGradMode grad_;
};

template <class Test>
void for_each_kind_and_mode(Test test) {
  for (const kind& each : kinds()) {
    for (const grad_mode mode : {grad_mode::grad, grad_mode::no_grad, grad_mode::inference}) {
      SCOPED_TRACE(::testing::Message() << each.name << ", mode " << static_cast<int>(mode));
      const mode_guard in(mode);
      test(each.make);
    }
  }
}

// The strided tensors that a tensor consists of.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor) {
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (!ops::has_members(impl)) return {tensor};
  std::vector<at::Tensor> parts;
  ops::for_each_member(impl, [&](at::Tensor& member) { parts.push_back(member); });
  return parts;
}

// The bytes of each part's storage.
std::vector<std::string> bytes_of(const at::Tensor& tensor) {
  std::vector<std::string> all;
  for (const at::Tensor& part : parts_of(tensor)) {
    const c10::Storage& storage = part.unsafeGetTensorImpl()->unsafe_storage();
    all.emplace_back(static_cast<const char*>(storage.data()), storage.nbytes());
  }
  return all;
}

TEST_F(EngineTest, AnAliasIsWhatItsTensorIsButForTheDevice) {
  for_each_kind_and_mode([](const auto& make) {
    const at::Tensor x = make(device(1));
    kernel_call call;
    const at::Tensor alias = call.lend(x);
    EXPECT_EQ(alias.device(), target().device(1));
    EXPECT_EQ(alias.is_inference(), x.is_inference());
    EXPECT_EQ(alias.unsafeGetTensorImpl()->version_counter().enabled(), !x.is_inference());
    EXPECT_EQ(alias.dtype(), x.dtype());
    EXPECT_EQ(alias.layout(), x.layout());
    EXPECT_EQ(alias.is_conj(), x.is_conj());
    EXPECT_EQ(alias.is_quantized(), x.is_quantized());
    EXPECT_EQ(alias.is_nested(), x.is_nested());
    EXPECT_TRUE(call.lend(x).is_same(alias)) << "one tensor has one alias";
    call.begin();
    call.finish();
    EXPECT_TRUE(call.take_back(alias).is_same(x));
  });
}

TEST_F(EngineTest, AViewOfAnAliasIsAViewOfTheTensor) {
  for (const grad_mode mode : {grad_mode::grad, grad_mode::no_grad, grad_mode::inference}) {
    const mode_guard in(mode);
    for (const auto& make : {kinds()[0].make, kinds()[5].make, kinds()[6].make}) {
      const at::Tensor x = make(device(0));
      kernel_call call;
      const at::Tensor alias = call.lend(x);
      call.begin();
      // A plain tensor over the alias's storage, as a kernel makes views.
      auto view = c10::make_intrusive<c10::TensorImpl>(
          c10::TensorImpl::VIEW, c10::Storage(alias.unsafeGetTensorImpl()->unsafe_storage()),
          c10::DispatchKeySet(target().key()), caffe2::TypeMeta::Make<uint8_t>());
      view->set_sizes_contiguous({2});
      call.finish();
      const at::Tensor taken = call.take_back(at::Tensor(std::move(view)));
      EXPECT_EQ(taken.device(), x.device());
      EXPECT_EQ(taken.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl(),
                x.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
      EXPECT_EQ(taken.is_inference(), x.is_inference());
    }
  }
}

// ---- Who owns the memory

void overwrite_what_is_free() {
  std::vector<at::Tensor> others;
  others.reserve(60);
  for (int i = 0; i < 60; ++i) {
    others.push_back(
        at::full({int64_t{1} << (i % 10 + 4)}, 119,
                 at::TensorOptions(at::kByte).device(c10::DeviceType::PrivateUse1, 0)));
  }
}

TEST_F(EngineTest, AnAliasThatIsKeptOwnsItsMemory) {
  for_each_kind_and_mode([](const auto& make) {
    at::Tensor x = make(device(0));
    const std::vector<std::string> expected = bytes_of(x);
    at::Tensor kept;
    {
      kernel_call call;
      kept = call.lend(x);
      call.begin();
      call.finish();
    }
    x.reset();
    overwrite_what_is_free();
    EXPECT_EQ(bytes_of(kept), expected);
  });
}

// Lends `x`, and lets `visit` have the alias and its storage as a kernel has them.
void lend_to(const at::Tensor& x, const std::function<void(const at::Tensor&)>& visit) {
  kernel_call call;
  const at::Tensor alias = call.lend(x);
  call.begin();
  visit(alias);
  call.finish();
}

// Lends more than the engine has to spare.
void lend_others() {
  std::vector<at::Tensor> others;
  others.reserve(20);
  for (int i = 0; i < 20; ++i)
    others.push_back(at::full(
        {i + 1}, i, at::TensorOptions(at::kDouble).device(c10::DeviceType::PrivateUse1, 0)));
  kernel_call call;
  for (const at::Tensor& other : others) call.lend(other);
  call.begin();
  call.finish();
}

TEST_F(EngineTest, WhatIsKeptOfAnAliasIsNotLentAgain) {
  const at::Tensor x = at::arange(5, on());
  at::Tensor kept;
  lend_to(x, [&](const at::Tensor& alias) { kept = alias; });
  c10::Storage storage;
  lend_to(x, [&](const at::Tensor& alias) { storage = alias.storage(); });
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> weak;
  lend_to(x, [&](const at::Tensor& alias) { weak.emplace_back(alias.getIntrusivePtr()); });
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> weak_storage;
  lend_to(x, [&](const at::Tensor& alias) {
    weak_storage.emplace_back(alias.storage().getWeakStorageImpl());
  });
  lend_others();
  EXPECT_EQ(kept.sizes(), x.sizes());
  EXPECT_EQ(kept.data_ptr(), x.data_ptr());
  EXPECT_EQ(storage.data(), x.data_ptr());
  EXPECT_TRUE(weak.front().expired());
  EXPECT_TRUE(weak_storage.front().expired());
}

TEST_F(EngineTest, WhatAKernelDoesToAnAliasIsNotLentAgain) {
  const std::vector<std::function<void(c10::TensorImpl&)>> changes{
      [](c10::TensorImpl& alias) { alias.set_requires_grad(true); },
      [](c10::TensorImpl& alias) { alias.bump_version(); },
      [](c10::TensorImpl& alias) { alias.set_wrapped_number(true); },
      [](c10::TensorImpl& alias) {
        const c10::Storage other(c10::Storage::use_byte_size_t(), 4, {nullptr, alias.device()});
        alias.set_storage_and_dtype(other, caffe2::TypeMeta::Make<int>());
      },
      [](c10::TensorImpl& alias) { alias.set_sizes_contiguous({1, 2}); },
      [](c10::TensorImpl& alias) {
        alias.set_backend_meta(c10::make_intrusive<c10::BackendMeta>());
      },
  };
  const at::Tensor x = at::ones({}, on()), other = at::arange(3, on());
  for (const auto& change : changes) {
    kernel_call call;
    at::Tensor alias = call.lend(x);
    change(*alias.unsafeGetTensorImpl());
    alias.reset();
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    lend_to(other, [&](const at::Tensor& alias) {
      EXPECT_FALSE(alias.requires_grad());
      EXPECT_EQ(alias._version(), 0);
      EXPECT_FALSE(alias.unsafeGetTensorImpl()->is_wrapped_number());
      EXPECT_EQ(alias.dtype(), other.dtype());
      EXPECT_EQ(alias.sizes(), other.sizes());
      EXPECT_EQ(alias.unsafeGetTensorImpl()->get_backend_meta(), nullptr);
    });
  }
}

TEST_F(EngineTest, AThreadMayRunOperatorsUntilItHasEnded) {
  at::Tensor sums;
  // Made before the first operator of the thread, so it ends after what operators have made there.
  struct last_words {
    at::Tensor* into = nullptr;
    ~last_words() { *into = numbers().cumsum(0); }
  };
  std::thread([&] {
    thread_local last_words words;
    words.into = &sums;
    numbers().cumsum(0);
  }).join();
  EXPECT_TRUE(sums.cpu().equal(numbers().cpu().cumsum(0)));
}

TEST_F(EngineTest, AnAliasKeepsTheMemoryThatItsStorageHasLost) {
  for_each_kind_and_mode([](const auto& make) {
    const at::Tensor x = make(device(0));
    const std::vector<std::string> expected = bytes_of(x);
    at::Tensor kept;
    {
      kernel_call call;
      kept = call.lend(x);
      call.begin();
      // Not even until the call is over.
      for (const at::Tensor& part : parts_of(x)) {
        c10::StorageImpl& storage =
            *part.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
        storage.set_data_ptr_noswap(core::allocate_on(0, storage.nbytes()));
      }
      overwrite_what_is_free();
      EXPECT_EQ(bytes_of(kept), expected);
    }
    overwrite_what_is_free();
    EXPECT_EQ(bytes_of(kept), expected);
  });
}

TEST_F(EngineTest, NothingIsKeptThatNobodyHolds) {
  c10::DeviceAllocator& allocator = core::device_allocator();
  const auto in_use = [&] {
    return allocator.getDeviceStats(0)
        .allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)]
        .current;
  };
  const int64_t before = in_use();
  for_each_kind_and_mode([](const auto& make) {
    kernel_call call;
    call.lend(make(device(0)), access::write);
    call.begin();
    call.finish();
  });
  EXPECT_EQ(in_use(), before);
}

TEST_F(EngineTest, AResultThatIsKeptElsewhereSharesItsMemory) {
  kernel_call call;
  const at::Tensor x = numbers();
  call.lend(x);
  call.begin();
  at::Tensor made = at::empty({4}, at::TensorOptions().device(target().device(0)));
  const at::Tensor half = made.narrow(0, 2, 2);
  call.finish();
  const at::Tensor first = call.take_back(made), second = call.take_back(half);
  EXPECT_EQ(made.device(), target().device(0)) << "others hold it";
  EXPECT_EQ(first.storage().unsafeGetStorageImpl(), second.storage().unsafeGetStorageImpl());
  first.fill_(3);
  EXPECT_EQ(second.cpu()[1].item<float>(), 3);
}

TEST_F(EngineTest, AResultKeepsTheMemoryThatItsKernelReplaces) {
  struct counted {
    c10::DataPtr memory;
    int freed = 0;
  } held;
  at::Tensor made = at::empty({4}, at::TensorOptions().device(target().device(0)));
  c10::StorageImpl& kept = *made.storage().unsafeGetStorageImpl();
  auto* const elements = static_cast<float*>(kept.mutable_data());
  elements[3] = 4;
  held.memory = std::move(kept.mutable_data_ptr());
  kept.set_data_ptr_noswap({elements, &held, [](void* all) { ++static_cast<counted*>(all)->freed; },
                            target().device(0)});
  at::Tensor result;
  {
    kernel_call call;
    call.lend(numbers());
    call.begin();
    call.finish();
    result = call.take_back(made);
  }
  EXPECT_EQ(made.const_data_ptr(), elements);
  kept.set_data_ptr_noswap(target().allocator()->allocate(64));
  EXPECT_EQ(held.freed, 0);
  EXPECT_EQ(result.cpu()[3].item<float>(), 4);
  result.reset();
  core::synchronize_device(0);
  core::device_allocator().emptyCache();
  EXPECT_EQ(held.freed, 1);
}

// ---- What is refused, and what failures leave

TEST_F(EngineTest, StrangersAreRefused) {
  const at::Tensor here = numbers(), there = numbers(1), cpu = at::ones({4, 6});
  const auto refused = [](auto call, const char* names) {
    try {
      call();
      ADD_FAILURE() << "accepted";
    } catch (const c10::Error& error) {
      EXPECT_THAT(error.what_without_backtrace(),
                  HasSubstr("Expected all tensors to be on the same device"));
      EXPECT_THAT(error.what_without_backtrace(), HasSubstr(names));
    }
  };
  refused([&] { at::hypot(here, there); }, "acme:1");
  refused([&] { at::hypot(here, cpu); }, "cpu");
  if (target().type != c10::kCPU) {
    const at::Tensor targets = at::empty({4, 6}, at::device(target().device(0)));
    refused([&] { at::hypot(here, targets); }, "hpu:0");
  }
  EXPECT_EQ(at::hypot(here, at::scalar_tensor(0.0)).device(), here.device()) << "a scalar may join";
}

TEST_F(EngineTest, AFailureLeavesTheArgumentsAsTheyWere) {
  at::Tensor out = numbers().narrow(0, 1, 2);
  const c10::StorageImpl* const storage = out.storage().unsafeGetStorageImpl();
  EXPECT_THROW(at::mm_out(out, numbers(), numbers()), c10::Error);
  EXPECT_THAT(out.sizes().vec(), ::testing::ElementsAre(2, 6));
  EXPECT_EQ(out.device(), device(0));
  EXPECT_EQ(out.storage().unsafeGetStorageImpl(), storage);
  EXPECT_TRUE(out.cpu().equal(numbers().cpu().narrow(0, 1, 2)));
}

TEST_F(EngineTest, RandomNumbersFollowTheDevicesGenerator) {
  const auto seeded = [](uint64_t seed) {
    at::Generator generator = core::default_generator(0);
    generator.set_current_seed(seed);
    return std::pair(at::empty({8}, on()).uniform_().cpu(), at::randperm(50, on()).cpu());
  };
  const auto first = seeded(7), again = seeded(7), other = seeded(8);
  EXPECT_TRUE(first.first.equal(again.first));
  EXPECT_TRUE(first.second.equal(again.second));
  EXPECT_FALSE(first.first.equal(other.first));
  EXPECT_THROW(at::empty({8}, on()).uniform_(0, 1, core::default_generator(1)), c10::Error);
}

}  // namespace
}  // namespace outback::test
