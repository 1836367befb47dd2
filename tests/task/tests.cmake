# The graph of a reference, against numpy.
add_test(NAME task/record COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/task/record.py)
# The same of references that compute with torch, where it is installed.
add_test(NAME task/record_torch COMMAND /usr/bin/python3
                                        ${CMAKE_SOURCE_DIR}/tests/task/record_torch.py)
set_tests_properties(task/record_torch PROPERTIES SKIP_RETURN_CODE 77)
