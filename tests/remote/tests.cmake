# The remote runner's SDK modules, as they are in the archive that is built into hone.
if(EXISTS /usr/bin/python3)
  file(GLOB sdk_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_sdk_*.py)
  foreach(file ${sdk_tests})
    get_filename_component(stem ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${stem})
    add_test(NAME remote/${name} COMMAND /usr/bin/python3 -m unittest -q ${stem}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/remote)
    set_tests_properties(remote/${name} PROPERTIES LABELS hosts TIMEOUT 120
      ENVIRONMENT "PYTHONPATH=${HONE_RUNNER};PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endif()
