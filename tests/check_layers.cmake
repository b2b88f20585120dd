# Fails, and names the line, if a file below the contract includes torch, Python or the torch half.
#   cmake -DROOT=<repository> -P check_layers.cmake
# With -DFILES=<file>;... only those are read.
if(NOT FILES)
  file(
    GLOB_RECURSE FILES
    "${ROOT}/backend_template/runtimes/*.[ch]" "${ROOT}/backend_template/runtimes/*.[ch]pp"
    "${ROOT}/backend_template/layers/*.hpp" "${ROOT}/backend_template/layers/*.cpp"
    "${ROOT}/backend_template/include/outback/detail/*" "${ROOT}/tests/runtime/*.[ch]" "${ROOT}/tests/runtime/*.[ch]pp"
    "${ROOT}/tests/layers/*.[ch]pp")
  foreach(header layers.hpp runtime.h runtime.hpp runtime_error.hpp slot_list.hpp table_check.hpp)
    list(APPEND FILES "${ROOT}/backend_template/include/outback/${header}")
  endforeach()
endif()

set(forbidden
    "(torch|ATen|c10|caffe2|pybind11|Python\\.h|backend_template/(core|ops|module)/|registration/|outback/(backend|module|python)\\.h)"
)
set(found 0)
foreach(file IN LISTS FILES)
  file(STRINGS "${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]${forbidden}")
  foreach(line IN LISTS lines)
    message(SEND_ERROR "${file}: ${line}")
    math(EXPR found "${found} + 1")
  endforeach()
endforeach()
list(LENGTH FILES read)
if(read EQUAL 0)
  message(FATAL_ERROR "no files below ${ROOT}: wrong folder?")
endif()
message(STATUS "${read} files read, ${found} includes that do not belong there")
