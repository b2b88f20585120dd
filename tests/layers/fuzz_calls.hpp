// Bytes as calls of a validated table: any slot, any argument, and a model that knows which of them
// have to be refused.
//
// What no layer can see is not done: host memory that is not there, a struct_size beyond its
// buffer, memory that goes while work may still use it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/text.hpp"
#include "outback/detail/slots.hpp"
#include "outback/layers.hpp"

namespace outback::layers {

/// Two devices, none of which reads or writes the host's memory by itself.
struct fuzz_table {
  const char* name;
  const outback_runtime* validated;
  /// Another process's, from which IPC handles come; null where there is none.
  const outback_runtime* other = nullptr;
};

/// One run: calls until the bytes are used up, then everything goes that is still there.
class fuzz_run {
 public:
  fuzz_run(const fuzz_table& table, std::span<const uint8_t> bytes)
      : table_(table), t_(*table.validated), bytes_(bytes), arena_(std::size_t{2} << 20) {
    make_foreign_handles();
  }
  ~fuzz_run() { free_foreign(); }
  fuzz_run(const fuzz_run&) = delete;
  fuzz_run& operator=(const fuzz_run&) = delete;

  /// What went wrong, or "".
  std::string run() {
    while (!bytes_.empty() && problem_.empty()) any_call();
    if (problem_.empty()) clean_up();
    return problem_;
  }
  /// Calls made, those for cleaning up not counted; and how many of them succeeded, by slot.
  std::size_t calls() const { return calls_; }
  const std::map<std::string, std::size_t>& successes() const { return successes_; }

 private:
  struct thing {
    void* ptr;
    int32_t device;  // or OUTBACK_HOST
    std::size_t size = 0;
    bool operator==(const thing& other) const { return ptr == other.ptr && device == other.device; }
  };
  struct pool {
    std::vector<thing> live, gone;
    bool has(const void* ptr, int32_t device) const {
      return std::find(live.begin(), live.end(), thing{const_cast<void*>(ptr), device}) !=
             live.end();
    }
    bool has(const void* ptr) const {
      return std::any_of(live.begin(), live.end(), [&](const thing& t) { return t.ptr == ptr; });
    }
    void take(const void* ptr, int32_t device) {
      const auto found = std::find(live.begin(), live.end(), thing{const_cast<void*>(ptr), device});
      gone.push_back(*found);
      live.erase(found);
    }
  };

  // ---- Bytes

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  template <class T>
  T any() {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = T(value << (sizeof(T) > 1 ? 8 : 0)) | byte();
    return value;
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[byte() % all.size()];
  }
  const thing* one_of(const std::vector<thing>& all) {
    return all.empty() ? nullptr : &all[byte() % all.size()];
  }

  // ---- Arguments

  int32_t device() {
    const uint8_t b = byte();
    if (b < 224) return b % 2;
    return one_of<int32_t>({-1, -2, 2, 64, INT32_MAX, INT32_MIN});
  }
  std::size_t size() {
    const uint8_t b = byte();
    if (b < 96) return b;
    if (b < 208) return one_of<std::size_t>({0, 8, 64, 128, 256, 4096, 65536, 1 << 20});
    if (b < 240) return any<uint16_t>();
    return one_of<std::size_t>({std::size_t{1} << 40, SIZE_MAX / 2, SIZE_MAX - 62, SIZE_MAX});
  }
  void* garbage() {
    return reinterpret_cast<void*>(one_of<uintptr_t>(
        {1, 8, 4096, 0xdeadbeef00, UINTPTR_MAX, UINTPTR_MAX - 63, any<uint64_t>()}));
  }
  void* inside(const thing* found) {
    if (found == nullptr) return nullptr;
    const std::size_t offset = byte() < 160 ? 0 : byte();
    return static_cast<std::byte*>(found->ptr) + offset;
  }
  void* pointer(int32_t wanted) {
    switch (byte() % 12) {
      case 0:
        return nullptr;
      case 1:
        return garbage();
      case 2:
        return inside(one_of(memory_.gone));
      case 3:
        return inside(one_of(pinned_.live));
      case 4:
        return inside(one_of(pinned_.gone));
      case 5:
        return inside(one_of(opened_));
      case 6:
        return inside(one_of(registered_.live));
      case 7:
        return arena_.data() + byte();
      case 8:
        if (const thing* found = one_of(streams_.live)) return found->ptr;
        return nullptr;
      default: {
        const thing* found = one_of(memory_.live);
        for (int i = 0; i < 3 && found != nullptr && found->device != wanted; ++i) {
          found = one_of(memory_.live);
        }
        return inside(found);
      }
    }
  }
  // Memory that is there and may be read and written as the host's, or that is refused as such.
  void* host_pointer() {
    switch (byte() % 8) {
      case 0:
        return nullptr;
      case 1:
        if (t_.host_memory != nullptr) return inside_of_it(one_of(memory_.live));
        return nullptr;
      case 2:
      case 3:
        return inside_of_it(one_of(pinned_.live));
      default:
        return arena_.data() + any<uint16_t>();
    }
  }
  void* inside_of_it(const thing* found) {
    if (found == nullptr) return nullptr;
    return static_cast<std::byte*>(found->ptr) + byte() % found->size;
  }

  pool& pool_of(std::string_view kind) {
    return kind == "stream"   ? streams_
           : kind == "event"  ? events_
           : kind == "graph"  ? graphs_
           : kind == "module" ? modules_
                              : kernels_;
  }
  template <class Handle>
  Handle handle(argument a, int32_t wanted) {
    constexpr const char* kind = handle_name<Handle>;
    pool& mine = pool_of(kind);
    const auto pick = [&]() -> void* {
      const uint8_t b = byte();
      const thing* found = nullptr;
      if (b < 176) {
        found = one_of(mine.live);
        for (int i = 0; i < 3 && found != nullptr && found->device != wanted; ++i) {
          found = one_of(mine.live);
        }
      } else if (b < 200) {
        found = one_of(mine.gone);
      } else if (b < 220) {
        found = one_of(pool_of(one_of({"stream", "event", "graph", "module", "kernel"})).live);
      } else if (b < 230) {
        return garbage();
      }
      return found == nullptr ? nullptr : found->ptr;
    };
    void* picked = pick();
    const bool fine = a.is == role::of_any                         ? mine.has(picked)
                      : picked == nullptr && a.is == role::or_null ? true
                                                                   : mine.has(picked, wanted);
    if (!fine) must_refuse_ = true;
    return static_cast<Handle>(picked);
  }

  // A launch of the kernel count_from, which fills memory of the device, or one that is refused.
  const outback_launch* launch(int32_t wanted) {
    if (byte() < 8) {
      must_refuse_ = true;
      return nullptr;
    }
    const thing* found = one_of(memory_.live);
    launched_.out = found == nullptr ? nullptr : found->ptr;
    launched_.count = found == nullptr ? 0 : uint32_t(std::min<std::size_t>(found->size / 4, 64));
    if (found != nullptr && found->device != wanted && byte() < 128) launched_.out = nullptr;
    if (launched_.out == nullptr) launched_.count = 0;
    launched_.arguments = {{{&launched_.out, sizeof(void*), 1},
                            {&launched_.first, sizeof(uint32_t), 0},
                            {&launched_.count, sizeof(uint32_t), 0}}};
    outback_launch& how = launched_.how;
    how = {.struct_size = sizeof(how),
           .argument_count = 3,
           .arguments = launched_.arguments.data(),
           .groups = {byte() % 3u, 1, byte() % 2u},
           .items = {1u + byte() % 32u, 1, 1},
           .local_size = byte() < 32 ? any<uint64_t>() : 0};
    switch (byte() % 32) {
      case 0:
        how.struct_size = one_of<uint32_t>({0, 4, 47});
        must_refuse_ = true;
        break;
      case 1:
        how.items[byte() % 3] = 0;
        must_refuse_ = true;
        break;
      case 2:
        how.items[byte() % 3] = any<uint32_t>() | 1u << 31;
        must_refuse_ = true;
        break;
      case 3:
        how.argument_count = byte() % 3;
        must_refuse_ = true;
        break;
      case 4:
        launched_.arguments[byte() % 3].value = nullptr;
        must_refuse_ = true;
        break;
      case 5:
        launched_.arguments[byte() % 3].size = byte() % 4;
        must_refuse_ = true;
        break;
      default:
        break;
    }
    return &how;
  }

  const outback_ipc_handle* ipc_handle() {
    if (byte() < 16) {
      must_refuse_ = true;
      return nullptr;
    }
    outback_ipc_handle made = {};
    if (!handles_.empty() && byte() < 208) made = handles_[byte() % handles_.size()];
    made.struct_size =
        byte() < 208 ? sizeof(made) : one_of<uint32_t>({0, 4, 8, 127, 129, 1024, UINT32_MAX});
    if (byte() < 32) made.size = any<uint32_t>();
    if (byte() < 32) made.bytes[byte() % sizeof(made.bytes)] = byte();
    made.fd = one_of<int32_t>({-1, -1, -2, 1 << 20, INT32_MAX});
    if (made.struct_size < sizeof(made) || made.size > sizeof(made.bytes)) must_refuse_ = true;
    given_.fill(std::byte{});  // room for what the larger sizes say
    std::memcpy(given_.data(), &made, sizeof(made));
    return reinterpret_cast<const outback_ipc_handle*>(given_.data());
  }

  template <class Out>
  Out* output(std::size_t i) {
    if (byte() < 8) {
      must_refuse_ = true;
      return nullptr;
    }
    // More than there is of it, for sizes beyond its own.
    given_outs_[i] = std::max<std::size_t>(sizeof(Out), 2048);
    std::memset(outs_[i].data(), 0x5a, given_outs_[i]);
    uint32_t size = sizeof(Out);
    if (byte() < 96)
      size = one_of<uint32_t>({0, 3, 4, 5, 8, 60, 127, 128, 1024, 65537, UINT32_MAX});
    std::memcpy(outs_[i].data(), &size, sizeof(size));
    return reinterpret_cast<Out*>(outs_[i].data());
  }

  template <class Slot, class Value>
  void choose(std::size_t i, Value& value, int32_t& device_of_call) {
    constexpr bool is_copy = std::is_same_v<Slot, slots::mem_copy>;
    const argument a = Slot::arguments[i];
    const std::string_view name = a.name;
    if constexpr (std::is_same_v<Value, outback_callback>) {
      value = byte() < 16 ? nullptr : +[](void*) { callbacks_.fetch_add(1); };
      if (value == nullptr) must_refuse_ = true;
    } else if constexpr (handle_name<Value> != nullptr) {
      value = handle<Value>(a, device_of_call);
    } else if constexpr (std::is_same_v<Value, const outback_ipc_handle*>) {
      value = ipc_handle();
    } else if constexpr (std::is_same_v<Value, const outback_launch*>) {
      value = launch(device_of_call);
    } else if constexpr (std::is_same_v<Slot, slots::kernel_of> &&
                         std::is_same_v<Value, const char*>) {
      value = one_of<const char*>({"count_from", "count_from", "none", "", nullptr});
      if (value == nullptr) must_refuse_ = true;
    } else if constexpr (std::is_pointer_v<Value>) {
      using Target = std::remove_pointer_t<Value>;
      if constexpr (!std::is_void_v<Target>) {
        value = output<Target>(i);
      } else if (name == "pattern") {
        value = byte() < 8 ? nullptr : pattern_.data();
        if (value == nullptr) must_refuse_ = true;
      } else if (std::is_same_v<Slot, slots::host_register>) {
        value = host_pointer();
      } else {
        value = pointer(device_of_call);
      }
    } else if constexpr (std::is_same_v<Value, std::size_t>) {
      value = name == "pattern_size" ? one_of<std::size_t>({1, 2, 4, 8, 8, 3, 0, 16, SIZE_MAX})
                                     : size();
    } else if (a.is == role::device || a.is == role::side) {
      value = Value(device());
      if (is_copy && byte() < 128) value = Value(OUTBACK_HOST);
      const int32_t chosen = int32_t(value);
      const bool host = a.is == role::side && chosen == OUTBACK_HOST;
      if (!host && (chosen < 0 || chosen > 1)) must_refuse_ = true;
      if (!host && (a.is == role::side || device_of_call == OUTBACK_HOST)) device_of_call = chosen;
    } else {
      value = byte() < 200 ? Value(byte() % 8) : Value(any<uint32_t>());
    }
  }

  // ---- Calls

  void any_call() {
    constexpr auto slots_before = []<class Slot>(std::type_identity<Slot>) {
      std::size_t n = 0;
      bool found = false;
      slots::for_each_slot([&](auto slot) {
        found = found || std::is_same_v<decltype(slot), Slot>;
        if (!found) ++n;
      });
      return n;
    };
    constexpr std::size_t count = slots_before(std::type_identity<void>());
    constexpr std::size_t first_of_graphs = slots_before(std::type_identity<slots::graph_begin>());
    constexpr std::size_t slots_of_graphs =
        slots_before(std::type_identity<slots::graph_destroy>()) + 1 - first_of_graphs;
    std::size_t which = byte() % count;
    // By chance alone hardly any capture gets to its end, and no graph to a launch.
    if (byte() < 48) which = first_of_graphs + byte() % slots_of_graphs;
    std::size_t i = 0;
    slots::for_each_slot([&](auto slot) {
      if (i++ == which) one_call<decltype(slot)>(decltype(slot)::pointer);
    });
  }

  template <class Slot, class Owner, class... Args>
  void one_call(outback_status (*Owner::*)(void*, Args...)) {
    const auto function = function_of<Slot>();
    if (function == nullptr) return;
    must_refuse_ = false;
    given_outs_ = {};
    std::tuple<Args...> arguments;
    int32_t device_of_call = OUTBACK_HOST;
    choose_each<Slot>(arguments, device_of_call, std::index_sequence_for<Args...>());
    if constexpr (std::is_same_v<Slot, slots::mem_copy>) {
      if (std::get<1>(arguments) == OUTBACK_HOST) std::get<0>(arguments) = host_pointer();
      if (std::get<3>(arguments) == OUTBACK_HOST) std::get<2>(arguments) = host_pointer();
    }
    if constexpr (std::is_same_v<Slot, slots::module_load>) {
      auto& [d, format, bytes, size, made] = arguments;
      if (byte() < 192) format = OUTBACK_FORMAT_HOST;
      bytes = byte() < 8 ? nullptr : host_kernels().data();
      if (bytes == nullptr) must_refuse_ = true;
      size = byte() < 160 ? host_kernels().size() : std::min(size, host_kernels().size());
      if (size == 0) must_refuse_ = true;
    }
    if constexpr (std::is_same_v<Slot, slots::host_register>) {
      // No more than there is, unless that shows.
      auto& [ptr, size] = arguments;
      const auto left = std::size_t(arena_.data() + arena_.size() - static_cast<std::byte*>(ptr));
      if (left <= arena_.size() && size <= SIZE_MAX / 2) size = std::min(size, left);
    }
    if (!before(Slot(), arguments)) return;
    for_each_out([&](std::size_t i, std::size_t size) {
      std::memcpy(outs_before_[i].data(), outs_[i].data(), size);
    });
    const outback_status status =
        std::apply([&](Args... all) { return function(t_.self, all...); }, arguments);
    ++calls_;
    if (status == OUTBACK_OK) ++successes_[Slot::name];
    check_status<Slot>(status);
    if (problem_.empty()) after(Slot(), status, arguments);
    if (problem_.empty() && runs_beside_others) wait_for_all();
  }
  template <class Slot, class Tuple, std::size_t... I>
  void choose_each(Tuple& arguments, int32_t& device_of_call, std::index_sequence<I...>) {
    (choose<Slot>(I, std::get<I>(arguments), device_of_call), ...);
  }
  template <class Slot>
  auto function_of() const {
    return slots::function_in<Slot>(t_);
  }

  // Of those that this call got: calls `visit` with the number and the bytes of each.
  template <class Visit>
  void for_each_out(const Visit& visit) const {
    for (std::size_t i = 0; i < given_outs_.size(); ++i) {
      if (given_outs_[i] != 0) visit(i, given_outs_[i]);
    }
  }

  template <class Slot>
  void check_status(outback_status status) {
    if (status == OUTBACK_OK) {
      if (must_refuse_) fail<Slot>("succeeded, and has to be refused");
      return;
    }
    bool are_as_before = true;
    for_each_out([&](std::size_t i, std::size_t size) {
      are_as_before =
          are_as_before && std::memcmp(outs_before_[i].data(), outs_[i].data(), size) == 0;
    });
    if (!are_as_before) return fail<Slot>("wrote an output without success");
    if (status == OUTBACK_NOT_READY && Slot::may_be_not_ready && !must_refuse_) return;
    const std::string text = t_.last_error(t_.self);
    const bool may_be =
        status == OUTBACK_INVALID_ARGUMENT || (!must_refuse_ && status == OUTBACK_OUT_OF_MEMORY) ||
        // A format that the runtime does not take may be the first thing that it looks at.
        ((!must_refuse_ || std::is_same_v<Slot, slots::module_load>) &&
         status == OUTBACK_UNSUPPORTED);
    if (!may_be) return fail<Slot>("answered " + std::to_string(status) + ": " + text);
    if (text.empty()) return fail<Slot>("was refused without a text");
    const std::string own = "validation: ";
    if (text.starts_with(own) && !text.starts_with(own + Slot::name + ": ")) {
      fail<Slot>("was refused with the text of another: " + text);
    }
  }
  template <class Slot>
  void fail(const std::string& what) {
    problem_ = std::string(table_.name) + ", call " + std::to_string(calls_) + ", " + Slot::name +
               ": " + what;
  }

  // ---- What a caller has to do first

  /// False for a call that is not worth what it ends.
  template <class Slot, class Tuple>
  bool before(Slot, const Tuple& a) {
    constexpr auto is = []<class... Slots>(std::type_identity<Slots>...) {
      return (std::is_same_v<Slot, Slots> || ...);
    };
    if constexpr (is(std::type_identity<slots::device_sync>(),
                     std::type_identity<slots::stream_sync>(),
                     std::type_identity<slots::stream_query>(),
                     std::type_identity<slots::event_sync>(),
                     std::type_identity<slots::event_query>())) {
      return captures_.empty() || byte() < 64;
    } else if constexpr (is(std::type_identity<slots::mem_free>())) {
      return !memory_.has(std::get<1>(a)) || nothing_uses_memory();
    } else if constexpr (is(std::type_identity<slots::host_free>())) {
      return !pinned_.has(std::get<0>(a)) || nothing_uses_memory();
    } else if constexpr (is(std::type_identity<slots::host_unregister>())) {
      return !registered_.has(std::get<0>(a)) || nothing_uses_memory();
    } else if constexpr (is(std::type_identity<slots::ipc_close_memory>())) {
      return opened_.empty() || nothing_uses_memory();
    } else if constexpr (is(std::type_identity<slots::stream_destroy>())) {
      in_capture_ = is_in_capture(std::get<0>(a), std::get<1>(a));
      if (in_capture_ && byte() < 128) finish_graphs();
      in_capture_ = in_capture_ && !captures_.empty();
    }
    return true;
  }

  bool nothing_uses_memory() {
    const bool graphs = !captures_.empty() || !graphs_.live.empty();
    if (graphs && !bytes_.empty() && byte() < 224) return false;
    finish_graphs();
    wait_for_all();
    return true;
  }
  void wait_for_all() {
    for (int32_t d = 0; d < 2; ++d) {
      const bool captures = !captures_.empty();
      const outback_status status = t_.device_sync(t_.self, d);
      if (status != OUTBACK_OK && !captures && problem_.empty()) {
        problem_ = "device_sync: " + std::string(t_.last_error(t_.self));
      }
    }
  }
  bool is_in_capture(int32_t device, outback_stream stream) {
    if (captures_.empty() || !streams_.has(stream, device)) return false;
    outback_capture capture = OUTBACK_CAPTURE_NONE;
    must(t_.graphs->status(t_.self, device, stream, &capture));
    return capture != OUTBACK_CAPTURE_NONE;
  }
  void finish_graphs() {
    for (const thing& each : std::exchange(captures_, {})) {
      outback_graph made = nullptr;
      if (t_.graphs->end(t_.self, each.device, static_cast<outback_stream>(each.ptr), &made) ==
          OUTBACK_OK) {
        graphs_.live.push_back({made, each.device});
      }
    }
    for (const thing& each : std::exchange(graphs_.live, {})) {
      must(t_.graphs->destroy(t_.self, each.device, static_cast<outback_graph>(each.ptr)));
      graphs_.gone.push_back(each);
    }
  }

  // ---- What is there after a call

  template <class Slot, class Tuple>
  void after(Slot, outback_status status, const Tuple& a) {
    constexpr auto is = []<class... Slots>(std::type_identity<Slots>...) {
      return (std::is_same_v<Slot, Slots> || ...);
    };
    const bool done = status == OUTBACK_OK;
    if constexpr (is(std::type_identity<slots::mem_alloc>())) {
      if (done) made(memory_, *std::get<2>(a), std::get<0>(a), std::get<1>(a));
    } else if constexpr (is(std::type_identity<slots::host_alloc>())) {
      if (done) made(pinned_, *std::get<1>(a), OUTBACK_HOST, std::get<0>(a));
    } else if constexpr (is(std::type_identity<slots::host_register>())) {
      if (done) made(registered_, std::get<0>(a), OUTBACK_HOST, std::get<1>(a));
    } else if constexpr (is(std::type_identity<slots::stream_create>(),
                            std::type_identity<slots::native_wrap_stream>())) {
      if (done) made(streams_, *std::get<2>(a), std::get<0>(a), 0);
    } else if constexpr (is(std::type_identity<slots::event_create>(),
                            std::type_identity<slots::ipc_open_event>())) {
      if (done) made(events_, *std::get<2>(a), std::get<0>(a), 0);
    } else if constexpr (is(std::type_identity<slots::ipc_open_memory>())) {
      if (done) opened_.push_back({*std::get<2>(a), std::get<0>(a), 1});
    } else if constexpr (is(std::type_identity<slots::ipc_get_memory>(),
                            std::type_identity<slots::ipc_get_event>())) {
      if (!done) return;
      handles_.push_back(*std::get<2>(a));
      if (handles_.back().fd >= 0) ::close(handles_.back().fd);
    } else if constexpr (is(std::type_identity<slots::graph_begin>())) {
      if (done) captures_.push_back({std::get<1>(a), std::get<0>(a)});
    } else if constexpr (is(std::type_identity<slots::graph_end>())) {
      if (!must_refuse_) std::erase(captures_, thing{std::get<1>(a), std::get<0>(a)});
      if (done) made(graphs_, *std::get<2>(a), std::get<0>(a), 0);
    } else if constexpr (is(std::type_identity<slots::mem_free>())) {
      went<Slot>(memory_, std::get<1>(a), std::get<0>(a), done, true);
    } else if constexpr (is(std::type_identity<slots::host_free>())) {
      went<Slot>(pinned_, std::get<0>(a), OUTBACK_HOST, done, true);
    } else if constexpr (is(std::type_identity<slots::host_unregister>())) {
      went<Slot>(registered_, std::get<0>(a), OUTBACK_HOST, done, false);
    } else if constexpr (is(std::type_identity<slots::stream_destroy>())) {
      if (std::exchange(in_capture_, false)) {
        if (done) fail<Slot>("took a stream out of its capture");
        return;
      }
      went<Slot>(streams_, std::get<1>(a), std::get<0>(a), done, false);
    } else if constexpr (is(std::type_identity<slots::event_destroy>())) {
      went<Slot>(events_, std::get<1>(a), std::get<0>(a), done, false);
    } else if constexpr (is(std::type_identity<slots::graph_destroy>())) {
      went<Slot>(graphs_, std::get<1>(a), std::get<0>(a), done, false);
    } else if constexpr (is(std::type_identity<slots::module_load>())) {
      if (done) made(modules_, *std::get<4>(a), std::get<0>(a), 0);
    } else if constexpr (is(std::type_identity<slots::module_unload>())) {
      went<Slot>(modules_, std::get<1>(a), std::get<0>(a), done, false);
      if (!done) return;
      for (const thing& each : std::exchange(kernels_.live, {})) {
        pool& where = kernels_;
        const bool goes = owners_[each.ptr] == std::get<1>(a);
        (goes ? where.gone : where.live).push_back(each);
      }
    } else if constexpr (is(std::type_identity<slots::kernel_of>())) {
      if (!done) return;
      const outback_kernel kernel = *std::get<3>(a);
      if (!kernels_.has(kernel, std::get<0>(a))) made(kernels_, kernel, std::get<0>(a), 0);
      owners_[kernel] = std::get<1>(a);
    } else if constexpr (is(std::type_identity<slots::ipc_close_memory>())) {
      const auto found =
          std::find(opened_.begin(), opened_.end(), thing{std::get<1>(a), std::get<0>(a)});
      if (done != (found != opened_.end())) return fail<Slot>("did not do what it had to");
      if (done) opened_.erase(found);
    }
  }
  static void made(pool& where, void* ptr, int32_t device, std::size_t size) {
    if (ptr != nullptr) where.live.push_back({ptr, device, size});
  }
  template <class Slot>
  void went(pool& where, void* ptr, int32_t device, bool done, bool null_may) {
    const bool there = where.has(ptr, device);
    const bool nothing = null_may && ptr == nullptr && !must_refuse_;
    if (done != (there || nothing)) {
      return fail<Slot>(done ? "took what was not there: " + address_text(ptr)
                             : "refused what was there: " + std::string(t_.last_error(t_.self)));
    }
    if (there) where.take(ptr, device);
  }

  // ---- The end

  void clean_up() {
    nothing_uses_memory();
    for (const thing& e : events_.live) {
      must(t_.events->destroy(t_.self, e.device, static_cast<outback_event>(e.ptr)));
    }
    for (const thing& s : streams_.live) {
      must(t_.streams->destroy(t_.self, s.device, static_cast<outback_stream>(s.ptr)));
    }
    for (const thing& m : modules_.live) {
      must(t_.kernels->module_unload(t_.self, m.device, static_cast<outback_module>(m.ptr)));
    }
    for (const thing& o : opened_) must(t_.ipc->close_memory(t_.self, o.device, o.ptr));
    for (const thing& m : memory_.live) must(t_.mem_free(t_.self, m.device, m.ptr));
    for (const thing& p : pinned_.live) must(t_.host_memory->free(t_.self, p.ptr));
    for (const thing& r : registered_.live) must(t_.host_registration->remove(t_.self, r.ptr));
    if (problem_.empty()) problem_ = leaks(table_.validated);
  }
  void must(outback_status status) {
    if (status == OUTBACK_OK || !problem_.empty()) return;
    problem_ = std::string(table_.name) + ", at the end: " + t_.last_error(t_.self);
  }

  // ---- Another process

  void make_foreign_handles() {
    if (table_.other == nullptr) return;
    const outback_runtime& o = *table_.other;
    outback_ipc_handle made = {};
    made.struct_size = sizeof(made);
    for (void*& each : foreign_) {
      if (o.mem_alloc(o.self, 0, 4096, &each) == OUTBACK_OK &&
          o.ipc->get_memory(o.self, 0, each, &made) == OUTBACK_OK) {
        handles_.push_back(made);
      }
    }
    if (o.events->create(o.self, 0, OUTBACK_EVENT_INTERPROCESS, &foreign_event_) == OUTBACK_OK &&
        o.ipc->get_event(o.self, 0, foreign_event_, &made) == OUTBACK_OK) {
      handles_.push_back(made);
    }
  }
  void free_foreign() {
    if (table_.other == nullptr) return;
    const outback_runtime& o = *table_.other;
    for (void* each : foreign_) o.mem_free(o.self, 0, each);
    o.events->destroy(o.self, 0, foreign_event_);
  }

  // Streams that run at the same time write to the same memory, which is the caller's own fault.
#ifdef __SANITIZE_THREAD__
  static constexpr bool runs_beside_others = true;
#else
  static constexpr bool runs_beside_others = false;
#endif
  static inline std::atomic<uint64_t> callbacks_{0};

  const fuzz_table& table_;
  const outback_runtime& t_;
  std::span<const uint8_t> bytes_;
  std::string problem_;
  std::size_t calls_ = 0;
  std::map<std::string, std::size_t> successes_;
  bool in_capture_ = false;  // the stream that is about to go
  bool must_refuse_ = false;

  // The suite's kernels, as a module for the host.
  static const std::string& host_kernels() {
    static const auto& bytes = *new std::string([] {
      std::ifstream file(OUTBACK_HOST_KERNELS, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    }());
    return bytes;
  }

  // What a launch points to.
  struct {
    void* out = nullptr;
    uint32_t first = 7, count = 0;
    std::array<outback_argument, 3> arguments = {};
    outback_launch how = {};
  } launched_;

  pool memory_, pinned_, registered_, streams_, events_, graphs_, modules_, kernels_;
  std::map<const void*, const void*> owners_;  // of kernels
  std::vector<thing> opened_, captures_;
  std::vector<outback_ipc_handle> handles_;
  std::array<void*, 2> foreign_ = {};
  outback_event foreign_event_ = nullptr;

  std::vector<std::byte> arena_;
  std::array<std::byte, 8> pattern_ = {};
  alignas(64) std::array<std::byte, 2048> given_ = {};
  // Room for the largest struct, and for a size beyond the other ones.
  using out_room = std::array<std::byte, sizeof(outback_records)>;
  alignas(64) std::array<out_room, 6> outs_ = {};
  std::array<out_room, 6> outs_before_ = {};
  std::array<std::size_t, 6> given_outs_ = {};  // bytes of those that a call gets; 0 for others
};

}  // namespace outback::layers
