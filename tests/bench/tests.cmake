# Measurements, not checks: built with the tests, left out of ./test by the label.
add_executable(term_latency ${CMAKE_SOURCE_DIR}/tests/bench/term_latency.c)
target_link_libraries(term_latency PRIVATE util)

# The device model beside published latencies; needs checkouts of the kernels' repositories.
add_executable(calibrate ${CMAKE_SOURCE_DIR}/tests/bench/calibrate.c)
target_link_libraries(calibrate PRIVATE hone_all)
add_test(NAME bench/calibrate COMMAND calibrate)
set_tests_properties(bench/calibrate PROPERTIES LABELS bench TIMEOUT 900)
