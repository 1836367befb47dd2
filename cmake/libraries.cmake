# The libraries hone is built on; every one of them is a package of Debian 12.
find_package(PkgConfig REQUIRED)
pkg_check_modules(EXTERNALS REQUIRED IMPORTED_TARGET
  ncursesw libcjson libpcre2-8 sqlite3 libuv inih libxxhash)
# Those that few commands need are loaded when they are first used: core/base/os/library.h.
pkg_check_modules(LATE REQUIRED IMPORTED_TARGET libcurl libssh2 openblas)
find_package(Threads REQUIRED)
add_library(hone_externals INTERFACE)
target_link_libraries(hone_externals INTERFACE PkgConfig::EXTERNALS Threads::Threads m)
if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
  target_include_directories(hone_externals SYSTEM INTERFACE ${LATE_INCLUDE_DIRS})
  target_link_libraries(hone_externals INTERFACE ${CMAKE_DL_LIBS})
else()
  target_link_libraries(hone_externals INTERFACE PkgConfig::LATE)
endif()
