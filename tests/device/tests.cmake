# The conversions once more, with the half type that compilers without _Float16 get (the object
# beside the test stands before the library's).
add_executable(test_device_convert_soft ${CMAKE_SOURCE_DIR}/tests/device/test_convert.c
  ${CMAKE_SOURCE_DIR}/core/device/image/convert.c)
target_link_libraries(test_device_convert_soft PRIVATE hone_all PkgConfig::CMOCKA)
add_test(NAME device/convert_soft COMMAND test_device_convert_soft)
set_tests_properties(device/convert_soft PROPERTIES LABELS unit TIMEOUT 120)
# Each of its kernels is timed three or four times, which takes long under the sanitisers.
set_tests_properties(device/fold PROPERTIES TIMEOUT 400)
# The compiler's own type is a witness for ours.
target_compile_definitions(test_base_half PRIVATE ${HONE_HALF})
add_executable(bench_execute ${CMAKE_SOURCE_DIR}/tests/device/bench_execute.c)
target_link_libraries(bench_execute PRIVATE hone_all PkgConfig::CMOCKA)
target_include_directories(bench_execute PRIVATE ${CMAKE_SOURCE_DIR}/tests)
add_test(NAME bench/execute COMMAND bench_execute)
set_tests_properties(bench/execute PROPERTIES LABELS bench TIMEOUT 600)
