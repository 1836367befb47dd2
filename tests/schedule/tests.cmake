# It times hundreds of kernels, which takes long under the sanitisers.
set_tests_properties(schedule/search PROPERTIES TIMEOUT 400)
