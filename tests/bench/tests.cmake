# Measurements, not checks: built with the tests, left out of ./test by the label.
add_executable(term_latency ${CMAKE_SOURCE_DIR}/tests/bench/term_latency.c)
target_link_libraries(term_latency PRIVATE util)
