# The graph of a reference, against numpy.
add_test(NAME task/record COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/task/record.py)
# The same of references that compute with torch, where it is installed.
add_test(NAME task/record_torch COMMAND /usr/bin/python3
                                        ${CMAKE_SOURCE_DIR}/tests/task/record_torch.py)
set_tests_properties(task/record_torch PROPERTIES SKIP_RETURN_CODE 77)
# What references' Pythons run, and its byte code.
add_test(NAME task/harness_code COMMAND /usr/bin/python3
         ${CMAKE_SOURCE_DIR}/tests/task/harness_code.py ${HONE_HARNESS} ${HONE_HARNESS_CODE})
set_tests_properties(task/harness_code PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
