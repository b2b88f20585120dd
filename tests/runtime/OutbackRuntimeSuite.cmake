# The runtime conformance suite, for the runtimes of this tree and for a vendor's, who has it from find_package(Outback):
#
#   outback_add_runtime_suite(acme_suite RUNTIME_LIBRARY acme_runtime TABLE_FUNCTION acme_table)
include_guard(GLOBAL)

# outback_add_runtime_suite_program(<name> <target> <symbol>): the program alone, without ctest entries.
function(outback_add_runtime_suite_program name runtime_library table_function)
  # Where this file is, whoever calls.
  set(OUTBACK_RUNTIME_SUITE_DIR "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/suite")
  set(OUTBACK_RUNTIME_SUITE_ROOT "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../..")
  find_package(Threads REQUIRED)
  if(NOT TARGET GTest::gmock)
    include("${OUTBACK_RUNTIME_SUITE_ROOT}/cmake/OutbackDependencies.cmake")
    outback_need_gtest()
  endif()

  # Compiled once for all suites; an object library, since nothing refers to a test and a linker would drop it.
  if(NOT TARGET outback_runtime_suite)
    add_library(
      outback_runtime_suite OBJECT
      "${OUTBACK_RUNTIME_SUITE_DIR}/copy_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/device_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/errors_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/events_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/fill_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/host_memory_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/memory_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/streams_test.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/suite.cpp"
      "${OUTBACK_RUNTIME_SUITE_DIR}/threads_test.cpp")
    target_include_directories(outback_runtime_suite PUBLIC "${OUTBACK_RUNTIME_SUITE_ROOT}")
    target_link_libraries(
      outback_runtime_suite PUBLIC outback::runtime GTest::gmock GTest::gtest Threads::Threads)
    outback_target_defaults(outback_runtime_suite)
  endif()

  add_executable(${name} "${OUTBACK_RUNTIME_SUITE_DIR}/main.cpp")
  target_compile_definitions(${name} PRIVATE OUTBACK_SUITE_TABLE=${table_function})
  target_link_libraries(${name} PRIVATE outback_runtime_suite ${runtime_library})
  outback_target_defaults(${name})
endfunction()

# outback_add_runtime_suite(<name> RUNTIME_LIBRARY <target> TABLE_FUNCTION <symbol> [WHOLE])
#
# Builds the program <name>, which runs the suite on the table that `const outback_runtime* <symbol>(void)`, with C
# linkage and from <target>, answers. ctest gets one entry for each test, and <name>.summary: the whole run in one
# process, which prints "N passed, N unsupported, N failed". A test of a group that the runtime has not got is
# unsupported, which ctest reports as skipped. With WHOLE, an unsupported test fails <name>.summary.
#
# Needs GoogleTest (with gmock) and the target outback::runtime; sees no torch.
function(outback_add_runtime_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "RUNTIME_LIBRARY;TABLE_FUNCTION" "")
  foreach(needed RUNTIME_LIBRARY TABLE_FUNCTION)
    if(NOT arg_${needed})
      message(FATAL_ERROR "outback_add_runtime_suite(${name}): ${needed} is missing")
    endif()
  endforeach()
  outback_add_runtime_suite_program(${name} ${arg_RUNTIME_LIBRARY} ${arg_TABLE_FUNCTION})

  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  add_test(NAME ${name}.summary COMMAND ${name} $<$<BOOL:${arg_WHOLE}>:--whole>)
  set_tests_properties(${name}.summary PROPERTIES TIMEOUT 600)
endfunction()
