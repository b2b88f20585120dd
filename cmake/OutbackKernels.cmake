# Kernels in the dialect as a part of a library: outback_add_kernels().
#
# Included by ../CMakeLists.txt. make_kernels.py does the work, with the Python whose torch is compiled against.
include_guard(GLOBAL)

# outback_add_kernels(<target> SOURCES <file>... FORMATS <format>... [FOR_TYPES <type>...] [FOLDERS <folder>...])
#
# Compiles each source, which is in the dialect (docs/dialect.md), for each format, and packs the modules into <target>.
# <outback/kernels/packed.h> finds them: by the name of the source without its ending. A user of <target> needs no compiler
# for them, and nothing reads them before their first use.
#
#   <target>             a library or program; it needs outback::kernels, unless it is the runtime's library of a backend
#   SOURCES <file>...    one module each
#   FORMATS <format>...  host, spirv, ptx, opencl_c. A format whose compiler is missing here is left out, and a message says
#                        which compiler that is. OpenCL C is packed as text, which the driver compiles
#   FOR_TYPES <type>...  f32, i64, ...: each source is compiled once for each type, with T defined as the type, and the module
#                        is called <source>_<type>
#   FOLDERS <folder>...  where the sources' own includes are, besides beside them
#
# Where OUTBACK_KERNELS_AS_FIBERS is set, modules in the format host run each item as a fiber, which finds BARRIERs that are
# missing and takes many times as long: for tests.
#
# Example: outback_add_kernels(torch_acme_library SOURCES src/swiglu.k FORMATS spirv opencl_c)
function(outback_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FORMATS;FOR_TYPES;FOLDERS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "outback_add_kernels(${target}): cannot read \"${arg_UNPARSED_ARGUMENTS}\"")
  endif()
  if(NOT arg_SOURCES OR NOT arg_FORMATS)
    message(FATAL_ERROR "outback_add_kernels(${target}): expected SOURCES and FORMATS, which outback_add_backend() calls "
                        "KERNEL_SOURCES and KERNELS")
  endif()
  set(here "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  set(script "${here}/make_kernels.py")
  set(tools "${script}" "${here}/inline_includes.py" "${here}/../backend_template/module/_outback/kernels/compilers.py")
  # The project's own scope may have no Python_EXECUTABLE.
  get_property(python GLOBAL PROPERTY OUTBACK_PYTHON)
  if(NOT python)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
    set(python "${Python_EXECUTABLE}")
  endif()
  _outback_formats_here(${target} "${python}" "${script}" arg_FORMATS)
  set(folders "")
  foreach(folder IN LISTS arg_FOLDERS)
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND folders --folder "${folder}")
  endforeach()

  # The list of this target grows with each call.
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels")
  file(MAKE_DIRECTORY "${output}")
  get_property(calls TARGET ${target} PROPERTY OUTBACK_KERNEL_LISTS)
  list(LENGTH calls call)
  set_property(TARGET ${target} APPEND PROPERTY OUTBACK_KERNEL_LISTS ${call})
  set(OUTBACK_BYTES "")
  set(OUTBACK_ENTRIES "")
  set(files "")
  if(NOT arg_FOR_TYPES)
    set(arg_FOR_TYPES "-")
  endif()
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "outback_add_kernels(${target}): there is no file ${source}")
    endif()
    get_filename_component(stem "${source}" NAME_WE)
    foreach(type IN LISTS arg_FOR_TYPES)
      set(name "${stem}_${type}")
      set(of_type --define "T=${type}")
      if(type STREQUAL "-")
        set(name "${stem}")
        set(of_type "")
      endif()
      foreach(format IN LISTS arg_FORMATS)
        _outback_variants(${format} variants)
        foreach(variant IN LISTS variants)
          string(REPLACE "." ";" parts "${variant}")
          list(GET parts 0 items)
          list(GET parts 1 has_f64)
          # Text is for all devices, and says itself what it needs.
          if(type STREQUAL "f64" AND items AND NOT has_f64)
            continue()
          endif()
          set(defined ${of_type})
          if(items)
            list(APPEND defined --define LSIZE=${items})
          endif()
          if(has_f64)
            list(APPEND defined --define HAS_F64=)
          endif()
          if(OUTBACK_KERNELS_AS_FIBERS)
            list(APPEND defined --define OUTBACK_DIALECT_FIBERS=)
          endif()
          set(made "${output}/${name}.${variant}.${format}")
          add_custom_command(
            OUTPUT "${made}"
            COMMAND "${python}" -S "${script}" make "${made}" ${format} "${source}" ${defined} ${folders}
            DEPENDS "${source}" ${tools}
            DEPFILE "${made}.d"
            COMMENT "Compiling the kernels of ${name}, ${format}"
            VERBATIM)
          list(APPEND files "${made}")
          string(MAKE_C_IDENTIFIER "outback_${target}_${name}_${variant}_${format}" symbol)
          string(APPEND OUTBACK_BYTES "OUTBACK_BYTES(${symbol}, \"${made}\")\n")
          string(APPEND OUTBACK_ENTRIES
                 "    {\"${name}\", format_${format}, ${items}, ${has_f64}, ${symbol}, ${symbol}_end},\n")
        endforeach()
      endforeach()
    endforeach()
  endforeach()
  set(list "${output}/packed_kernels_${call}.cpp")
  configure_file("${here}/packed_kernels.cpp.in" "${list}" @ONLY)
  set_source_files_properties("${list}" PROPERTIES OBJECT_DEPENDS "${files}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${list}")
endfunction()

# outback_add_portable_kernels(<target> FORMATS <format>... [OPERATORS <half>])
#
# Gives a backend the portable operators: PyTorch's operators on any device whose runtime launches kernels
# (docs/operators.md). Packs their kernels into <target>, and links the code that launches the kernels with <half>.
#
#   <target>             a library, as for outback_add_kernels()
#   FORMATS <format>...  as for outback_add_kernels()
#   OPERATORS <half>     the module that registers the backend. Without it, the kernels alone, which need no torch
#
# Example: outback_add_portable_kernels(torch_acme_library FORMATS spirv OPERATORS torch_acme)
function(outback_add_portable_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OPERATORS" "FORMATS")
  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../backend_template/portable")
  foreach(row IN ITEMS "f32 f16 bf16 f64 i64: elementwise random reduce"
                       "f32 f16 bf16 f64: grad_scaler matmul nll_loss norm optimizer softmax"
                       "f32 f64 i64: add_at range"
                       "u8 u16 u32 u64: move"
                       ": linear_index update_scale")
    string(REPLACE ":" ";" row "${row}")
    list(GET row 0 types)
    list(GET row 1 stems)
    separate_arguments(types)
    separate_arguments(stems)
    list(TRANSFORM stems REPLACE "(.+)" "${folder}/kernels/\\1.k" OUTPUT_VARIABLE sources)
    outback_add_kernels(${target} SOURCES ${sources} FORMATS ${arg_FORMATS} FOR_TYPES ${types})
  endforeach()
  if(arg_OPERATORS)
    outback_add_portable_operators(${arg_OPERATORS})
  endif()
endfunction()

# outback_add_portable_operators(<half>)
#
# Links the code that launches the kernels of the portable operators with <half>, without the kernels.
function(outback_add_portable_operators half)
  # By its static initializer, which no library of objects would bring.
  target_sources(${half} PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../backend_template/portable/engine/register.cpp")
  target_link_libraries(${half} PRIVATE outback::portable)
endfunction()

# _outback_formats_here(<target> <script> <list>)
#
# Leaves in <list> the formats that can be made here, and says of the others what is missing.
function(_outback_formats_here target python script list)
  execute_process(
    COMMAND "${python}" -S "${script}" why ${${list}}
    OUTPUT_VARIABLE missing
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" missing "${missing}")
  set(formats "${${list}}")
  foreach(line IN LISTS missing)
    string(REGEX REPLACE ":.*" "" format "${line}")
    if(line MATCHES "is no format")
      message(FATAL_ERROR "outback_add_kernels(${target}): ${line}")
    endif()
    list(REMOVE_ITEM formats ${format})
    message(STATUS "Outback: ${target} gets no kernels in the format ${line}")
  endforeach()
  if(NOT formats)
    message(FATAL_ERROR "outback_add_kernels(${target}): no format can be made here: ${missing}")
  endif()
  set(${list} "${formats}" PARENT_SCOPE)
endfunction()

# _outback_variants(<format> <out>)
#
# The modules of a format, each <items in a group>.<has float64>: a device takes the largest that fits it. Text is for all
# devices.
function(_outback_variants format out)
  if(format STREQUAL opencl_c)
    set(${out} "0.0" PARENT_SCOPE)
  elseif(format STREQUAL spirv)
    set(${out} "256.0;256.1;64.0;64.1" PARENT_SCOPE)
  elseif(OUTBACK_KERNELS_AS_FIBERS)
    set(${out} "64.1" PARENT_SCOPE)
  else()
    set(${out} "256.1" PARENT_SCOPE)
  endif()
endfunction()
