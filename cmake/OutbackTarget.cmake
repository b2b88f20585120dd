# What every compiled target of Outback has in common, set target by target: no variable CMAKE_*, no option of a folder, so
# that nothing of it reaches a vendor's targets.
#
# Included by ../CMakeLists.txt. Reads OUTBACK_UNITY, OUTBACK_UNITY_BATCH, OUTBACK_WARNINGS and OUTBACK_WERROR, which are
# declared there, and OUTBACK_LAUNCHER (OutbackCcache.cmake).
include_guard(GLOBAL)

# outback_target_defaults(<target>)
#
# C++20 without extensions, position independent code, hidden symbols, our warnings where they are wanted, no paths of the
# machine that builds in messages, and ccache. What a target's own lines say afterwards counts.
#
#   <target>   a library or a program of the calling folder. Those who link it get C++20, and nothing else of this
#
# Example: outback_target_defaults(outback_torch)
function(outback_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               POSITION_INDEPENDENT_CODE ON
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
  # The sources of a unity build are included by their full path, which is then what __FILE__ says in a check's message.
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH sources)
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${sources}/=")
  if(OUTBACK_WARNINGS)
    target_compile_options(
      ${target} PRIVATE -Wall -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                        $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> $<$<BOOL:${OUTBACK_WERROR}>:-Werror>)
  endif()
  get_property(launcher GLOBAL PROPERTY OUTBACK_LAUNCHER)
  if(launcher AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES C_COMPILER_LAUNCHER "${launcher}" CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endfunction()

# outback_unity(<target> [<files>])
#
# Compiles <target> as one file, or as few, where OUTBACK_UNITY asks for it. The headers of torch take 10 seconds, those of
# libtorch_python 13, and a file of ours one; what the headers' templates become is compiled once too, instead of once in
# each batch.
#
# OUTBACK_UNITY_BATCH divides further, for those who edit Outback: they wait for one batch after an edit.
#
#   <target>   a library or a program; its sources may be added later, unless <files> is given
#   <files>    how many at most, where OUTBACK_UNITY_BATCH says nothing, with equally many sources in each; 1 is the default
#
# Example: outback_unity(outback_torch 2)
function(outback_unity target)
  set(batch "${OUTBACK_UNITY_BATCH}")
  if(NOT batch AND ARGC GREATER 1)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(LENGTH sources count)
    if(count EQUAL 0)
      message(FATAL_ERROR "outback_unity(${target} ${ARGV1}): add the target's sources before this call.")
    endif()
    math(EXPR batch "(${count} + ${ARGV1} - 1) / ${ARGV1}")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${OUTBACK_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()
