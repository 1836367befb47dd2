# The remote runner, driven as hone drives it, and its modules, from the archive that is built into
# hone. A machine without Python has no runner to test.
if(EXISTS /usr/bin/python3)
  add_executable(releases_print ${CMAKE_SOURCE_DIR}/tests/nki/releases_print.c)
  target_link_libraries(releases_print PRIVATE hone_all)
  file(GLOB remote_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(file ${remote_tests})
    get_filename_component(stem ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${stem})
    add_test(NAME remote/${name} COMMAND /usr/bin/python3 -m unittest -q ${stem}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/remote)
    # The archive that hosts get, where it is looked into or driven whole; elsewhere the one that
    # has its byte code.
    set(archive ${HONE_RUNNER_INSIDE})
    if(name MATCHES "^(syntax|follow)$")
      set(archive ${HONE_RUNNER})
    endif()
    set(environment HONE_RELEASES_PRINT=$<TARGET_FILE:releases_print>
        HONE_RUNNER_PYZ=${archive} PYTHONPATH=${archive} PYTHONDONTWRITEBYTECODE=1)
    set_tests_properties(remote/${name} PROPERTIES LABELS hosts TIMEOUT 240
                         ENVIRONMENT "${environment}")
  endforeach()
endif()
