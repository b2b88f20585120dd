# The Python side of a backend in the build tree. What follows happens when CMake runs, and again when a source is added.
#
# Included by OutbackAddBackend.cmake.
include_guard(GLOBAL)

# _outback_stage_package(<package> <source> <output> <runtime>)
#
# Makes <output> look like the site-packages of an installed <package>: links to its Python sources, so that an edit needs no
# build; what loads the compiled parts; and the metadata that autoload reads.
#
#   <package>   torch_acme
#   <source>    the folder of <package>/ and of _<package>_autoload.py, which may be missing: then nothing is loaded by itself
#   <output>    a folder of the build
#   <runtime>   RUNTIME of outback_add_backend, and may be empty: autoload loads all but cuda only where torch.cuda has no device
function(_outback_stage_package package source output runtime)
  set(loading "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../generators/loader/_loading.py")
  if(EXISTS "${source}/${package}/_loading.py")
    message(FATAL_ERROR "${source}/${package}/_loading.py has the name of the file that Outback puts into the package: "
                        "call yours otherwise")
  endif()
  file(MAKE_DIRECTORY "${output}/${package}")
  configure_file("${loading}" "${output}/${package}/_loading.py" COPYONLY)
  install(FILES "${loading}" DESTINATION "${package}" COMPONENT ${package})

  # Not recursive but in the package: the build may be in a folder of <source>, and its links are no sources.
  file(GLOB_RECURSE modules CONFIGURE_DEPENDS RELATIVE "${source}" "${source}/${package}/*.py"
       "${source}/${package}/*.pyi")
  file(GLOB autoload CONFIGURE_DEPENDS RELATIVE "${source}" "${source}/_${package}_*.py")
  list(APPEND modules ${autoload})
  foreach(module IN LISTS modules)
    get_filename_component(folder "${output}/${module}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    file(CREATE_LINK "${source}/${module}" "${output}/${module}" SYMBOLIC)
  endforeach()

  if(EXISTS "${source}/_${package}_autoload.py")
    set(info "${output}/${package}-0.dist-info")
    string(REGEX REPLACE "^torch_" "" device "${package}")
    set(load load_unless_cuda)
    if(runtime STREQUAL cuda)
      set(load load)
    endif()
    file(CONFIGURE OUTPUT "${info}/METADATA" CONTENT "Metadata-Version: 2.1\nName: ${package}\nVersion: 0\n")
    file(CONFIGURE OUTPUT "${info}/entry_points.txt"
         CONTENT "[torch.backends]
${package} = _${package}_autoload:${load}
[torch.distributed.backends]
${device} = _${package}_autoload:load_by_name
")
  endif()
endfunction()
