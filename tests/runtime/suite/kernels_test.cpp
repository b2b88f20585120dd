// Modules and kernels: what is loaded and what is refused, and what a launch computes and when.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/runtime/suite/kernels/modules.hpp"
#include "tests/runtime/suite/other_process.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

constexpr outback_status refused = OUTBACK_INVALID_ARGUMENT;
using counts = std::array<uint32_t, 3>;

const outback_kernels& kernels() {
  return *table().kernels;
}

outback_formats formats_of(int32_t device = 0) {
  outback_formats formats = {};
  formats.struct_size = sizeof(formats);
  check(kernels().formats(table().self, device, &formats), "kernels.formats");
  return formats;
}

// The suite's kernels in the best format that the device takes; null if the suite has none for it.
const kernel_module* module_for_device() {
  const outback_formats formats = formats_of();
  for (uint32_t i = 0; i < formats.count; ++i) {
    for (const kernel_module& each : kernel_modules()) {
      if (each.format == formats.list[i]) return &each;
    }
  }
  return nullptr;
}

outback_status load(outback_format format, const std::string& bytes, outback_module* module) {
  return kernels().module_load(table().self, 0, format, bytes.data(), bytes.size(), module);
}

class module {
 public:
  explicit module(const kernel_module& from = *module_for_device()) {
    check(load(from.format, from.bytes, &handle_), "kernels.module_load");
  }
  ~module() {
    if (handle_ != nullptr) unload();
  }
  module(const module&) = delete;
  module& operator=(const module&) = delete;

  operator outback_module() const { return handle_; }
  void unload() {
    check(kernels().module_unload(table().self, 0, std::exchange(handle_, nullptr)),
          "kernels.module_unload");
  }
  outback_kernel kernel(const char* name) const {
    outback_kernel found = nullptr;
    check(kernels().kernel(table().self, 0, handle_, name, &found), "kernels.kernel");
    return found;
  }

 private:
  outback_module handle_ = nullptr;
};

// A launch with its arguments, which are memory (`const memory&`) or plain values.
class launch {
 public:
  template <class... Args>
  explicit launch(counts groups, counts items, const Args&... args) {
    std::copy(groups.begin(), groups.end(), how_.groups);
    std::copy(items.begin(), items.end(), how_.items);
    how_.struct_size = sizeof(how_);
    values_.reserve(sizeof...(args));
    (add(args), ...);
    for (const value& each : values_) {
      arguments_.push_back({each.content.data(), uint32_t(each.content.size()), each.is_memory});
    }
    how_.arguments = arguments_.data();
    how_.argument_count = uint32_t(arguments_.size());
  }

  launch(const launch&) = delete;  // it points into itself
  launch& operator=(const launch&) = delete;

  outback_status operator()(outback_kernel kernel, outback_stream s) const {
    return kernels().launch(table().self, 0, kernel, &how_, s);
  }
  outback_launch& how() { return how_; }
  std::vector<outback_argument>& arguments() { return arguments_; }

 private:
  struct value {
    bytes content;
    uint32_t is_memory;
  };
  void add(const memory& data) {
    void* const ptr = data.at();
    add_bytes(&ptr, sizeof(ptr), 1);
  }
  template <class T>
  void add(const T& number) {
    static_assert(std::is_trivially_copyable_v<T>);
    add_bytes(&number, sizeof(number), 0);
  }
  void add_bytes(const void* from, std::size_t size, uint32_t is_memory) {
    const auto* first = static_cast<const std::byte*>(from);
    values_.push_back({bytes(first, first + size), is_memory});
  }

  std::vector<value> values_;
  std::vector<outback_argument> arguments_;
  outback_launch how_ = {};
};

template <class T>
bytes bytes_of(const std::vector<T>& numbers) {
  bytes raw(numbers.size() * sizeof(T));
  std::memcpy(raw.data(), numbers.data(), raw.size());
  return raw;
}
template <class T>
std::vector<T> numbers_in(const memory& data) {
  const bytes raw = data.read();
  std::vector<T> numbers(raw.size() / sizeof(T));
  std::memcpy(numbers.data(), raw.data(), raw.size());
  return numbers;
}

std::vector<uint32_t> counted(uint32_t first, std::size_t count) {
  std::vector<uint32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = first + uint32_t(i);
  return numbers;
}

// What the kernel `take_time` computes.
uint32_t after(uint32_t rounds) {
  uint32_t x = 1;
  for (uint32_t i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  return x;
}
constexpr uint32_t long_time = 5'000'000;  // rounds: some milliseconds, or tens of them

class KernelTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped()) return;
    OUTBACK_NEEDS_GROUP(kernels);
    OUTBACK_NEEDS(module_for_device() != nullptr, "a format in which the suite has kernels");
  }
};

TEST_F(KernelTest, FormatsStayTheSame) {
  const outback_formats first = formats_of(), second = formats_of();
  EXPECT_EQ(std::memcmp(&first, &second, sizeof(first)), 0);
}

TEST_F(KernelTest, ALaunchComputes) {
  const module m;
  std::vector<float> a(1000), b(1000), sum(1000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = float(i) / 4;
    b[i] = float(i * i) / 8;
    sum[i] = a[i] + b[i];
  }
  const memory in_a(bytes_of(a)), in_b(bytes_of(b)), out(a.size() * sizeof(float));
  const launch with({16, 1, 1}, {64, 1, 1}, out, in_a, in_b, uint32_t(a.size()));
  EXPECT_OK(with(m.kernel("add"), nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_EQ(numbers_in<float>(out), sum);
}

TEST_F(KernelTest, ArgumentsOfAllSizes) {
  const module m;
  struct {
    int32_t a = 11;
    float b = 22;
    uint64_t c = uint64_t{33} << 40;
  } numbers;
  const memory out(all(5 * sizeof(uint64_t), 0));
  const launch with({1, 1, 1}, {1, 1, 1}, out, numbers, uint8_t{44}, uint16_t{5500});
  EXPECT_OK(with(m.kernel("take_numbers"), nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_EQ(numbers_in<uint64_t>(out),
            (std::vector<uint64_t>{11, 22, uint64_t{33} << 40, 44, 5500}));
}

TEST_F(KernelTest, APointerIntoTheMiddleOfAnAllocation) {
  const module m;
  const memory out(all(64 * sizeof(uint32_t), 0));
  launch with({1, 1, 1}, {8, 1, 1}, out, uint32_t{100}, uint32_t{8});
  void* const middle = out.at(20 * sizeof(uint32_t));
  with.arguments()[0].value = &middle;
  EXPECT_OK(with(m.kernel("count_from"), nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  std::vector<uint32_t> expected(64, 0);
  for (uint32_t i = 0; i < 8; ++i) expected[20 + i] = 100 + i;
  EXPECT_EQ(numbers_in<uint32_t>(out), expected);
}

TEST_F(KernelTest, ArgumentsAreReadBeforeTheCallReturns) {
  const module m;
  busy_work busy;
  memory out(all(8 * sizeof(uint32_t), 0));
  stream s;
  busy.enqueue(s);
  {
    launch with({1, 1, 1}, {8, 1, 1}, out, uint32_t{1}, uint32_t{8});
    uint32_t first = 7;
    with.arguments()[1].value = &first;
    EXPECT_OK(with(m.kernel("count_from"), s));
    first = 9;
    with.how().groups[0] = 0;
  }
  s.sync();
  EXPECT_EQ(numbers_in<uint32_t>(out), counted(7, 8));
}

TEST_F(KernelTest, GroupsAndItemsHaveThreeDimensions) {
  const module m;
  const counts groups = {3, 4, 5}, items = {4, 3, 2};
  const memory out(60 * 24 * sizeof(uint32_t));
  EXPECT_OK(launch(groups, items, out)(m.kernel("where"), nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  std::vector<uint32_t> expected;
  for (uint32_t g = 0; g < 60; ++g) {
    for (uint32_t i = 0; i < 24; ++i) {
      expected.push_back(g % 3 | g / 3 % 4 << 4 | g / 12 << 8 | i % 4 << 12 | i / 4 % 3 << 16 |
                         i / 12 << 20);
    }
  }
  EXPECT_EQ(numbers_in<uint32_t>(out), expected);
}

TEST_F(KernelTest, AGroupSharesLocalMemory) {
  const module m;
  constexpr uint32_t groups = 7, items = 32;
  const std::vector<uint32_t> numbers = counted(1, groups * items);
  const memory in(bytes_of(numbers)), out(groups * sizeof(uint32_t));
  launch with({groups, 1, 1}, {items, 1, 1}, out, in);
  with.how().local_size = items * sizeof(uint32_t);
  EXPECT_OK(with(m.kernel("sum_of_group"), nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  std::vector<uint32_t> expected;
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < items; ++i) sum = sum * 3 + numbers[g * items + items - 1 - i];
    expected.push_back(sum);
  }
  EXPECT_EQ(numbers_in<uint32_t>(out), expected);
}

TEST_F(KernelTest, NoGroupsDoNothing) {
  const module m;
  const memory out(all(32, 5));
  for (const counts groups : {counts{0, 1, 1}, counts{1, 0, 1}, counts{1, 1, 0}}) {
    EXPECT_OK(
        launch(groups, {8, 1, 1}, out, uint32_t{1}, uint32_t{8})(m.kernel("count_from"), nullptr));
  }
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(out.read(), all(32, 5)));
}

TEST_F(KernelTest, TheSameKernelEachTime) {
  const module m;
  const outback_kernel first = m.kernel("add");
  EXPECT_EQ(m.kernel("add"), first);
  EXPECT_NE(m.kernel("where"), first);
}

TEST_F(KernelTest, InfoTellsWhatIsKnown) {
  const module m;
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(kernels().info(table().self, 0, m.kernel("add"), &info));
  EXPECT_TRUE(info.argument_count == 4 || info.argument_count == -1) << info.argument_count;
  const uint32_t most = device_info().max_group_size;
  EXPECT_TRUE(most == 0 || info.max_items <= most) << info.max_items;
}

TEST_F(KernelTest, ALaunchKeepsTheOrderOfItsStream) {
  const module m;
  busy_work busy;
  memory out(all(8 * sizeof(uint32_t), 0)), copy(8 * sizeof(uint32_t));
  stream s;
  for (uint32_t round = 0; round < 3; ++round) {
    busy.fill(out, 255, s);
    EXPECT_OK(launch({1, 1, 1}, {4, 1, 1}, out, round, uint32_t{4})(m.kernel("count_from"), s));
    out.copy_to(copy, s);
    out.fill(0, s);
    s.sync();
    std::vector<uint32_t> expected(8, 0xffffffff);
    for (uint32_t i = 0; i < 4; ++i) expected[i] = round + i;
    EXPECT_EQ(numbers_in<uint32_t>(copy), expected);
  }
}

TEST_F(KernelTest, AnEventStandsForALaunch) {
  OUTBACK_NEEDS_GROUP(events);
  const module m;
  const memory out(all(64, 0)), copy(64);
  stream s, other;
  event e;
  EXPECT_OK(launch({1, 1, 1}, {1, 1, 1}, out, long_time)(m.kernel("take_time"), s));
  e.record(s);
  e.wait(other);
  out.copy_to(copy, other);
  other.sync();
  EXPECT_EQ(numbers_in<uint32_t>(copy)[0], after(long_time));
}

TEST_F(KernelTest, ALaunchDoesNotWaitForTheStream) {
  OUTBACK_NEEDS_GROUP(callbacks);
  const module m;
  const memory out(all(64, 0));
  stream s;
  std::atomic<bool> go{false};
  check(table().callbacks->enqueue(
            table().self, 0,
            [](void* flag) {
              while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
            },
            &go, s),
        "callbacks.enqueue");
  EXPECT_OK(launch({1, 1, 1}, {4, 1, 1}, out, uint32_t{1}, uint32_t{4})(m.kernel("count_from"), s));
  EXPECT_EQ(table().streams->query(table().self, 0, s), OUTBACK_NOT_READY);
  go = true;
  s.sync();
  EXPECT_EQ(numbers_in<uint32_t>(out)[3], 4u);
}

TEST_F(KernelTest, EightThreadsLaunchOneKernel) {
  const module m;
  const outback_kernel kernel = m.kernel("count_from");
  constexpr uint32_t rounds = 50, size = 64;
  in_threads(8, [&](int thread) {
    stream s;
    const memory out(size * rounds * sizeof(uint32_t));
    for (uint32_t round = 0; round < rounds; ++round) {
      launch with({1, 1, 1}, {size, 1, 1}, out, uint32_t(thread) << 16 | round * size, size);
      void* const place = out.at(round * size * sizeof(uint32_t));
      with.arguments()[0].value = &place;
      check(with(kernel, s), "kernels.launch");
    }
    s.sync();
    EXPECT_EQ(numbers_in<uint32_t>(out), counted(uint32_t(thread) << 16, size * rounds));
  });
}

TEST_F(KernelTest, AModuleIsUnloadedWhileALaunchIsPending) {
  module m;
  const memory out(all(64, 0));
  stream s;
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(launch({1, 1, 1}, {1, 1, 1}, out, long_time)(m.kernel("take_time"), s));
  }
  m.unload();
  s.sync();
  EXPECT_EQ(numbers_in<uint32_t>(out)[0], after(long_time));
}

TEST_F(KernelTest, ALaunchIsCaptured) {
  OUTBACK_NEEDS_GROUP(graphs);
  std::optional<module> m(std::in_place);
  const memory out(all(64, 0));
  stream s;
  check(table().graphs->begin(table().self, 0, s), "graphs.begin");
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_OK(launch({1, 1, 1}, {16, 1, 1}, out, i, uint32_t{16})(m->kernel("count_from"), s));
  }
  outback_graph graph = nullptr;
  check(table().graphs->end(table().self, 0, s, &graph), "graphs.end");
  check(table().graphs->instantiate(table().self, 0, graph), "graphs.instantiate");
  EXPECT_TRUE(same(out.read(), all(64, 0)));
  m.reset();  // the graph keeps what it launches
  for (int round = 0; round < 2; ++round) {
    out.fill(0, s);
    check(table().graphs->launch(table().self, 0, graph, s), "graphs.launch");
    s.sync();
    EXPECT_EQ(numbers_in<uint32_t>(out), counted(7, 16));
  }
  check(table().graphs->destroy(table().self, 0, graph), "graphs.destroy");
}

TEST_F(KernelTest, TwoModulesOfTheSameBytes) {
  module first;
  const module second;
  const memory out(all(64, 0));
  const outback_kernel kernel = second.kernel("count_from");
  EXPECT_NE(first.kernel("count_from"), kernel);
  first.unload();
  EXPECT_OK(launch({1, 1, 1}, {16, 1, 1}, out, uint32_t{3}, uint32_t{16})(kernel, nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_EQ(numbers_in<uint32_t>(out), counted(3, 16));
}

TEST_F(KernelTest, WrongBytesAreRefused) {
  const kernel_module& good = *module_for_device();
  const auto untouched = reinterpret_cast<outback_module>(&device_count);
  outback_module none = untouched;
  EXPECT_FAILS(load(good.format, "no module", &none), refused);
  EXPECT_FAILS(load(good.format, good.bytes.substr(0, good.bytes.size() / 2), &none), refused);
  EXPECT_FAILS(load(good.format, good.bytes.substr(0, 64), &none), refused);
  EXPECT_FAILS(load(good.format, "", &none), refused);
  for (const kernel_module& other : kernel_modules()) {
    // Text for another language, or a module for another machine.
    if (other.format != good.format && other.bytes != good.bytes) {
      EXPECT_FAILS(load(good.format, other.bytes, &none), refused);
    }
  }
  EXPECT_EQ(none, untouched);
}

TEST_F(KernelTest, AFormatThatTheRuntimeDoesNotTakeIsUnsupported) {
  const outback_formats formats = formats_of();
  outback_module none = nullptr;
  constexpr outback_format tried[] = {OUTBACK_FORMAT_HOST,
                                      OUTBACK_FORMAT_SPIRV,
                                      OUTBACK_FORMAT_PTX,
                                      OUTBACK_FORMAT_OPENCL_C,
                                      0,
                                      -1,
                                      999999};
  for (const outback_format format : tried) {
    if (std::count(formats.list, formats.list + formats.count, format) != 0) continue;
    EXPECT_FAILS(load(format, module_for_device()->bytes, &none), OUTBACK_UNSUPPORTED) << format;
  }
}

TEST_F(KernelTest, AKernelThatDoesNotExist) {
  const module m;
  outback_kernel none = nullptr;
  for (const char* name : {"no_such_kernel", "", "add "}) {
    EXPECT_FAILS(kernels().kernel(table().self, 0, m, name, &none), refused) << name;
  }
  EXPECT_EQ(none, nullptr);
}

TEST_F(KernelTest, WrongLaunchesAreRefused) {
  const module m;
  const outback_kernel kernel = m.kernel("count_from");
  const memory out(all(64, 5));
  const auto refuses = [&](const char* what, auto&& change) {
    launch with({1, 1, 1}, {16, 1, 1}, out, uint32_t{3}, uint32_t{16});
    change(with);
    EXPECT_FAILS(with(kernel, nullptr), refused) << what;
  };
  refuses("no items", [](launch& l) { l.how().items[1] = 0; });
  refuses("a struct of no size", [](launch& l) { l.how().struct_size = 0; });
  refuses("no arguments", [](launch& l) { l.how().arguments = nullptr; });
  refuses("an argument without a value", [](launch& l) { l.arguments()[1].value = nullptr; });
  refuses("an argument of no size", [](launch& l) { l.arguments()[1].size = 0; });
  refuses("a pointer of four bytes", [](launch& l) { l.arguments()[0].size = 4; });
  refuses("too many items",
          [](launch& l) { l.how().items[0] = l.how().items[1] = l.how().items[2] = 1 << 14; });
  if (const uint32_t most = device_info().max_group_size; most != 0) {
    refuses("an item too many", [&](launch& l) { l.how().items[0] = most + 1; });
  }
  refuses("too much local memory", [](launch& l) { l.how().local_size = uint64_t{1} << 40; });
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(out.read(), all(64, 5)));
}

TEST_F(KernelTest, ArgumentsThatDoNotFitAreRefused) {
  const module m;
  const outback_kernel kernel = m.kernel("count_from");
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  check(kernels().info(table().self, 0, kernel, &info), "kernels.info");
  OUTBACK_NEEDS(info.argument_count >= 0, "a driver that tells how many arguments a kernel has");
  const memory out(all(64, 5));
  EXPECT_FAILS(launch({1, 1, 1}, {16, 1, 1}, out, uint32_t{3})(kernel, nullptr), refused);
  EXPECT_FAILS(
      launch({1, 1, 1}, {16, 1, 1}, out, uint32_t{3}, uint32_t{4}, uint32_t{5})(kernel, nullptr),
      refused);
  EXPECT_FAILS(launch({1, 1, 1}, {16, 1, 1}, out, uint32_t{3}, uint8_t{4})(kernel, nullptr),
               refused);
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(out.read(), all(64, 5)));
}

// A process of its own: a fault may be the end of a device.
void fault_role(line& to) {
  const module m;
  const memory out(64);
  const outback_status launched = launch({1, 1, 1}, {1, 1, 1}, out)(m.kernel("fault"), nullptr);
  const outback_status synced = table().device_sync(table().self, 0);
  to.send(std::array<outback_status, 2>{launched, synced});
  to.receive<int>();
}
OUTBACK_ROLE(fault_role);

TEST_F(KernelTest, AFaultIsReportedLate) {
  const outback_format format = module_for_device()->format;
  OUTBACK_NEEDS(format == OUTBACK_FORMAT_HOST || format == OUTBACK_FORMAT_PTX ||
                    format == OUTBACK_FORMAT_CUBIN,
                "a language in which a kernel can fault");
  other_process other("fault_role");
  const auto [launched, synced] = other.to().receive<std::array<outback_status, 2>>();
  EXPECT_EQ(launched, OUTBACK_OK) << status_text(launched);
  EXPECT_TRUE(synced != OUTBACK_OK && synced != OUTBACK_NOT_READY) << status_text(synced);
}

// A process that ends with a module loaded and a launch pending, which writes nothing: memory that
// the process does not free would be a leak.
void exits_role(line& to) {
  static const auto& m = *new module;
  static const auto& s = *new stream;
  launch with({1 << 18, 1, 1}, {64, 1, 1}, static_cast<void*>(nullptr), uint32_t{1}, uint32_t{0});
  with.arguments()[0].is_memory = 1;
  check(with(m.kernel("count_from"), s), "kernels.launch");
  to.send(1);
  to.receive<int>();
}
OUTBACK_ROLE(exits_role);

TEST_F(KernelTest, AProcessEndsWithModulesLoaded) {
  other_process other("exits_role");
  other.to().receive<int>();
  other.to().send(1);
  EXPECT_TRUE(other.succeeded());
}

}  // namespace
}  // namespace outback::suite
