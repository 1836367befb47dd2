# Random programs through loading, execution and timing, always the same ones.
add_executable(fuzz_device ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_device.c)
target_link_libraries(fuzz_device PRIVATE hone_all PkgConfig::CMOCKA)
target_include_directories(fuzz_device PRIVATE ${CMAKE_SOURCE_DIR}/tests)
add_test(NAME fuzz/device COMMAND fuzz_device 40)
set_tests_properties(fuzz/device PROPERTIES LABELS fuzz TIMEOUT 120)
