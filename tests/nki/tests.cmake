# Kernels with what numpy says that they return.
if(TARGET docs_evaluate)
  add_test(NAME nki/kernels COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/nki/kernels.py
           $<TARGET_FILE:docs_evaluate>)
  set_tests_properties(nki/kernels PROPERTIES LABELS session TIMEOUT 120)
endif()
# What kernels may write in each release.
if(TARGET hone)
  add_test(NAME nki/releases COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/nki/releases.py
           $<TARGET_FILE:hone>)
  set_tests_properties(nki/releases PROPERTIES LABELS session TIMEOUT 240)
endif()
