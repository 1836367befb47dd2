# The libraries hone is built on; every one of them is a package of Debian 12.
find_package(PkgConfig REQUIRED)
pkg_check_modules(EXTERNALS REQUIRED IMPORTED_TARGET
  ncursesw libcurl libcjson libssh2 libpcre2-8 sqlite3 libuv openblas inih libxxhash)
find_package(Threads REQUIRED)
add_library(hone_externals INTERFACE)
target_link_libraries(hone_externals INTERFACE PkgConfig::EXTERNALS Threads::Threads m)
