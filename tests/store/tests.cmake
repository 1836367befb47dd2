# A file system without locks: flock is the test's own. Only GNU's linker and lld know --wrap.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(test_store_lock PRIVATE -Wl,--wrap=flock)
else()
  set_tests_properties(store/lock PROPERTIES DISABLED TRUE)
endif()
