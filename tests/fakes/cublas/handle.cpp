#include "tests/fakes/cublas/handle.hpp"

#include <vector>

#include "tests/fakes/cudart/fake_kernels.h"

namespace fake_cublas {

int add_call(const std::string& described, const void* const* addresses, int count, void* stream) {
  return fake_cudart_call(described.c_str(), stream, addresses, count) == 0 ? success
                                                                            : execution_failed;
}

int add_call(const char* name, const char* kinds, const word* parameters, void* stream) {
  std::string described = name;
  std::vector<const void*> addresses;
  for (const char* kind = kinds; *kind != '\0'; ++kind, ++parameters) {
    described += kind == kinds ? '(' : ' ';
    // What is narrower than a register leaves the rest of it as it was.
    if (*kind == 'i') described += std::to_string(int(*parameters));
    if (*kind == 'l') described += std::to_string((long long)(*parameters));
    if (*kind == 'p') described += '*';
    addresses.push_back(*kind == 'p' ? reinterpret_cast<const void*>(*parameters) : nullptr);
  }
  return add_call(described + ')', addresses.data(), int(addresses.size()), stream);
}

}  // namespace fake_cublas
