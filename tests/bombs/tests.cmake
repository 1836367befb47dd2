# Kernels without an end, or without measure, are refused with the line.
add_test(NAME bombs/refused COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/bombs/refused.py
         $<TARGET_FILE:hone>)
set_tests_properties(bombs/refused PROPERTIES LABELS session TIMEOUT 600)
