# The graph of a reference, against numpy.
add_test(NAME task/record COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/task/record.py)
