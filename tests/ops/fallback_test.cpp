// Operators on memory that the CPU cannot address: which bytes cross over, and what is said of it.
#include <ATen/ATen.h>
#include <ATen/native/SparseTensorUtils.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "backend_template/core/streams/stream.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace outback::test {
namespace {

constexpr int64_t n = 1024;
constexpr size_t bytes = n * sizeof(float);

// Device memory that faults when the CPU touches it, and a count of what is copied.
class counting_runtime : public host::host_runtime {
 public:
  counting_runtime()
      : host_runtime({.memory_size = size_t{64} << 20,
                      .host_addressable = false,
                      .addresses_host = false,
                      .protected_memory = true}) {}

  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device, size_t size,
                outback_stream stream) {
    host_runtime::mem_copy(dst, dst_device, src, src_device, size, stream);
    if (src_device == OUTBACK_HOST) into_device += size;
    if (dst_device == OUTBACK_HOST) out_of_device += size;
    if (dst_device == OUTBACK_HOST && host_info(dst).pinned == 0) pageable += size;
    streams.insert(stream);
  }

  void* host_alloc(size_t size) {
    largest_pinned = std::max(largest_pinned.load(), size);
    return host_runtime::host_alloc(size);
  }

  void event_record(int32_t device, outback_event event, outback_stream stream) {
    if (events_fail) throw device_lost("the device fell off the bus");
    host_runtime::event_record(device, event, stream);
  }

  std::atomic<bool> events_fail{false};
  std::atomic<size_t> into_device{0};
  std::atomic<size_t> out_of_device{0};
  std::atomic<size_t> pageable{0};
  std::atomic<size_t> largest_pinned{0};
  std::set<outback_stream> streams;
};

struct traffic {
  size_t from_device = 0;
  size_t to_device = 0;
  bool operator==(const traffic&) const = default;
};

void PrintTo(const traffic& t, std::ostream* out) {
  *out << t.from_device << " bytes from the device, " << t.to_device << " to it";
}

class FallbackTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    runtime_ = new counting_runtime;
    register_backend({.name = "acme",
                      .runtime = table_of(*runtime_),
                      .fallback = fallback_mode::allow,
                      .excluded_operators = {"aten::trace", "aten::relu"}});
  }
  void TearDown() override { set_fallback_mode(fallback_mode::allow); }

  static at::Tensor numbers(int64_t count = n) {
    return at::arange(count, at::kFloat).to(device());
  }
  static c10::Device device() { return {c10::DeviceType::PrivateUse1, 0}; }
  static counting_runtime& runtime() { return *runtime_; }

  template <class Call>
  static traffic of(Call call) {
    core::synchronize_device(0);
    runtime().into_device = runtime().out_of_device = runtime().pageable = 0;
    runtime().largest_pinned = 0;
    runtime().streams.clear();
    call();
    core::synchronize_device(0);
    return {runtime().out_of_device, runtime().into_device};
  }

 private:
  static inline counting_runtime* runtime_ = nullptr;
};

TEST_F(FallbackTest, CopiesArgumentsInAndResultsOut) {
  const at::Tensor a = numbers(), b = numbers();
  EXPECT_EQ(of([&] { at::add(a, b); }), (traffic{2 * bytes, bytes}));
  EXPECT_EQ(of([&] { at::add(a, a); }), (traffic{bytes, bytes})) << "one tensor is copied once";
  EXPECT_EQ(of([&] { at::sum(a); }), (traffic{bytes, sizeof(float)}));
}

TEST_F(FallbackTest, CopiesOnlyWhatAViewCovers) {
  const at::Tensor all = numbers(100 * n);
  const at::Tensor part = all.narrow(0, 50 * n, n);
  EXPECT_EQ(of([&] { at::abs(part); }), (traffic{bytes, bytes}));
  EXPECT_EQ(of([&] { at::neg_(const_cast<at::Tensor&>(part)); }), (traffic{bytes, bytes}));
  EXPECT_EQ(all[50 * n + 1].item<float>(), -(50.0F * n + 1));
  EXPECT_EQ(all[49 * n].item<float>(), 49.0F * n);
}

TEST_F(FallbackTest, DoesNotFetchWhatIsOverwritten) {
  at::Tensor a = numbers();
  at::Tensor out = at::empty({n}, a.options());
  EXPECT_EQ(of([&] { at::mul_out(out, a, a); }), (traffic{bytes, bytes}));
  EXPECT_EQ(out[3].item<float>(), 9);
  EXPECT_EQ(of([&] { out.fill_(2); }), traffic{}) << "the runtime fills";
  EXPECT_EQ(of([&] { out.uniform_(); }), (traffic{0, bytes}));
  EXPECT_EQ(of([&] { a.add_(1); }), (traffic{bytes, bytes})) << "what is added to is read";
}

TEST_F(FallbackTest, FetchesWhatLiesBetweenTheElementsThatAreOverwritten) {
  const at::Tensor all = numbers();
  at::Tensor even = all.slice(0, 0, n, 2);
  even.fill_(-1);
  EXPECT_EQ(all[2].item<float>(), -1);
  EXPECT_EQ(all[3].item<float>(), 3);
}

TEST_F(FallbackTest, FetchesWhatLiesBetweenTwoResults) {
  const at::Tensor all = numbers(30).clone();
  at::Tensor values = all.narrow(0, 0, 10), other = all.narrow(0, 20, 10);
  const at::Tensor x = numbers(10);
  at::_ops::frexp_Tensor_out::call(x, values, other = at::empty({10}, x.options().dtype(at::kInt)));
  EXPECT_EQ(all[15].item<float>(), 15);
  at::Tensor low = all.narrow(0, 0, 5), high = all.narrow(0, 25, 5);
  const at::Tensor square = numbers(25).view({5, 5});
  at::aminmax_out(low, high, square, 0);
  EXPECT_EQ(all[15].item<float>(), 15) << "between the two results";
  EXPECT_EQ(low[1].item<float>(), 1);
  EXPECT_EQ(high[1].item<float>(), 21);
}

TEST_F(FallbackTest, AResultThatShrinksLeavesTheRestOfItsMemory) {
  const at::Tensor all = numbers(20).clone();
  at::Tensor out = all.narrow(0, 0, 10);
  out.resize_({5});
  at::add_out(out, numbers(5), 100);
  EXPECT_EQ(all[4].item<float>(), 104);
  EXPECT_EQ(all[5].item<float>(), 5);
}

TEST_F(FallbackTest, ArgumentAndResultMayBeOne) {
  at::Tensor a = numbers();
  EXPECT_EQ(of([&] { at::add_out(a, a, 1); }), (traffic{bytes, bytes}));
  EXPECT_EQ(a[7].item<float>(), 8);
}

TEST_F(FallbackTest, StagesArePinnedAndOnTheCurrentStream) {
  const at::Tensor a = numbers();
  const c10::Stream stream = core::new_stream(0, 0);
  const c10::Stream before = core::exchange_stream(stream);
  of([&] { at::abs(a); });
  EXPECT_EQ(runtime().pageable, 0U);
  EXPECT_THAT(runtime().streams, ::testing::ElementsAre(core::handle_of(stream)));
  core::exchange_stream(before);
}

TEST_F(FallbackTest, AResultThatGrowsKeepsWhatLiesBeforeIt) {
  const at::Tensor base = numbers(4).clone();
  at::Tensor out = base.slice(0, 2);
  at::add_out(out, numbers(10), 1);
  EXPECT_EQ(out[9].item<float>(), 10);
  EXPECT_EQ(base[0].item<float>(), 0);
  EXPECT_EQ(base[1].item<float>(), 1);
}

TEST_F(FallbackTest, ResultsThatBeginEmptyLeaveWhatLiesBetween) {
  const at::Tensor base = numbers(20).clone();
  at::Tensor low = base.slice(0, 0, 0), high = base.slice(0, 12, 12);
  at::aminmax_out(low, high, numbers(6).view({2, 3}), 0);
  EXPECT_EQ(base[2].item<float>(), 2);
  EXPECT_EQ(base[7].item<float>(), 7) << "between the two";
  EXPECT_EQ(base[12].item<float>(), 3);
}

TEST_F(FallbackTest, AStageHasWhatTheTensorsSpan) {
  for (const int64_t count : {int64_t{1} << 18, int64_t{1} << 20}) {
    const at::Tensor all = numbers(count);
    EXPECT_EQ(of([&] { EXPECT_EQ(all[1000].item<float>(), 1000); }), (traffic{sizeof(float), 0}));
    EXPECT_EQ(of([&] { at::add(all.narrow(0, 1000, 5), all.narrow(0, 1010, 5)); }),
              (traffic{10 * sizeof(float), 5 * sizeof(float)}));
    EXPECT_EQ(of([&] { all.narrow(0, 1000, 5).sub_(1); }),
              (traffic{5 * sizeof(float), 5 * sizeof(float)}));
    EXPECT_EQ(runtime().pageable, 0U);
    EXPECT_LE(runtime().largest_pinned, 128U) << "15 floats, from a multiple of 64 bytes on";
    EXPECT_EQ(all[1003].item<float>(), 1002);
    EXPECT_EQ(all[999].item<float>(), 999);
    EXPECT_EQ(all[1005].item<float>(), 1005);
  }
}

TEST_F(FallbackTest, TensorsFarApartAreNotWorthPinning) {
  const at::Tensor all = numbers(1 << 20);
  of([&] { at::add(all.narrow(0, 3, 5), all.narrow(0, (1 << 20) - 5, 5)); });
  EXPECT_EQ(runtime().pageable, 10 * sizeof(float));
  of([&] { at::abs(all); });
  EXPECT_EQ(runtime().pageable, 0U);
}

TEST_F(FallbackTest, ElementsOfAnySizeAreWhereTheyWere) {
  const at::Tensor all = numbers(n);
  const at::Tensor byte = all.view(at::kByte).narrow(0, 1001, 3);
  EXPECT_TRUE(at::equal(at::add(byte, 1).cpu(), at::add(byte.cpu(), 1)));
  const at::Tensor pairs = at::view_as_complex(all.view({n / 2, 2})).narrow(0, 101, 3);
  EXPECT_TRUE(at::equal(at::abs(pairs).cpu(), at::abs(pairs.cpu())));
  EXPECT_EQ(at::add(pairs, all.narrow(0, 7, 3)).cpu()[1].item<c10::complex<float>>().real(), 212);
}

TEST_F(FallbackTest, AResultGrowsBeyondItsStageAndNotItsStorage) {
  for (const int64_t elements : {4, 0}) {
    const at::Tensor base = numbers(n).clone();
    const void* const memory = base.data_ptr();
    at::Tensor out = base.narrow(0, 500, elements);
    at::add_out(out, numbers(10), 1);
    EXPECT_EQ(out.storage_offset(), 500);
    EXPECT_EQ(out[9].item<float>(), 10);
    EXPECT_EQ(base[509].item<float>(), 10) << "the result is still a view";
    EXPECT_EQ(base[499].item<float>(), 499);
    EXPECT_EQ(base[510].item<float>(), 510);
    EXPECT_EQ(base.data_ptr(), memory);
    EXPECT_EQ(base.storage().nbytes(), bytes);
  }
}

TEST_F(FallbackTest, AResultGrowsBeyondItsStorage) {
  const at::Tensor base = numbers(n).clone();
  at::Tensor out = base.narrow(0, n - 4, 4);
  at::add_out(out, numbers(10), 1);
  EXPECT_EQ(out.storage_offset(), n - 4);
  EXPECT_EQ(out[9].item<float>(), 10);
  EXPECT_EQ(base[0].item<float>(), 0);
  EXPECT_EQ(base[n - 5].item<float>(), n - 5);
  EXPECT_EQ(base[n - 1].item<float>(), 4);
}

TEST_F(FallbackTest, ATensorThatIsTurnedStaysWhereItIs) {
  const at::Tensor all = numbers(n);
  at::Tensor part = all.narrow(0, 500, 6).view({2, 3});
  EXPECT_EQ(part.transpose_(0, 1).storage_offset(), 500);
  EXPECT_TRUE(at::equal(at::neg(part).cpu(), at::neg(part.cpu())));
  part.squeeze_();
  EXPECT_EQ(part.storage_offset(), 500);
}

TEST_F(FallbackTest, AnEventThatFailsWhenAStageIsFreedIsNoAbort) {
  const at::Tensor a = numbers();
  runtime().events_fail = true;
  EXPECT_EQ(at::abs(a).numel(), n);
  runtime().events_fail = false;
}

TEST_F(FallbackTest, TheModeErrorNamesTheOperatorBeforeAnythingIsCopied) {
  const at::Tensor a = numbers();
  set_fallback_mode(fallback_mode::error);
  EXPECT_EQ(get_fallback_mode(), fallback_mode::error);
  const auto refused = [&](auto call, const char* op) {
    EXPECT_EQ(of([&] {
                try {
                  call();
                  ADD_FAILURE() << op << " ran";
                } catch (const c10::NotImplementedError& e) {
                  EXPECT_THAT(e.what_without_backtrace(),
                              ::testing::StartsWith(std::string(op) + " has no kernel for acme"));
                }
              }),
              traffic{});
  };
  refused([&] { at::add(a, a); }, "aten::add.Tensor");
  refused([&] { at::erfinv(a); }, "aten::erfinv");
  EXPECT_EQ(at::ones({3}, a.options()).cpu()[2].item<float>(), 1) << "the runtime fills";
  refused([&] { at::arange(3, a.options()); }, "aten::arange.start_out");
}

TEST_F(FallbackTest, TheModeErrorLetsDataMove) {
  const at::Tensor a = numbers();
  set_fallback_mode(fallback_mode::error);
  EXPECT_EQ(a.view({2, -1}).t().contiguous().cpu()[3][1].item<float>(), 3 + n / 2);
  EXPECT_EQ(a[3].item<float>(), 3);
  EXPECT_EQ(at::zeros({3}, a.options()).to(at::kInt).cpu()[0].item<int>(), 0);
}

// torch asks for them through a table of kernels, outside of any operator.
TEST_F(FallbackTest, TheIndicesOfASparseTensorAreNumbered) {
  const at::Tensor indices = at::tensor({0, 1, 1, 2, 0, 2}, at::kLong).view({2, 3}).to(device());
  const at::Tensor numbered = at::sparse::flatten_indices(indices, {2, 3});
  EXPECT_EQ(numbered.device(), device());
  EXPECT_TRUE(numbered.cpu().equal(at::tensor({2, 3, 5}, at::kLong)));
}

TEST_F(FallbackTest, ExcludedOperatorsAreNotServed) {
  const at::Tensor square = numbers(4).view({2, 2});
  EXPECT_THROW(at::trace(square), c10::NotImplementedError);
  EXPECT_THROW(at::relu(square), c10::NotImplementedError);
  EXPECT_EQ(at::neg(square)[1][1].item<float>(), -3);
}

}  // namespace
}  // namespace outback::test
