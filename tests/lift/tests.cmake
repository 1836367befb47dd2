# What kernels compute, lifted and computed again.
add_test(NAME lift/lift COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/lift/lift.py
         $<TARGET_FILE:hone>)
set_tests_properties(lift/lift PROPERTIES LABELS session TIMEOUT 300)
