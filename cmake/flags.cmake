# Compiler and linker flags, in one interface library that every target of ours links.
add_library(hone_flags INTERFACE)
target_compile_options(hone_flags INTERFACE
  -Wall -Wextra -Wshadow -Wformat=2 -Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wundef
  -Wwrite-strings -Wvla -Wimplicit-fallthrough -Wpointer-arith -Werror=return-type
  -fno-common -fstack-protector-strong)
# Warnings end the builds of those who develop. Which ones there are depends on release and level of
# a compiler, so that they do not end what ./run builds for a user.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND HONE_TESTS)
  target_compile_options(hone_flags INTERFACE -Werror)
endif()
target_compile_definitions(hone_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)

# Not every compiler has a half type (gcc 11 on x86-64 and clang before 15 have none), and some that
# have one lack its conversions: both are tried. Without it core/base/half/half.h does the work.
set(HONE_HALF "")
if(NOT HONE_SOFT_HALF)
  include(CheckCSourceCompiles)
  check_c_source_compiles("
    int main(int n, char **v) { volatile _Float16 h = (_Float16)(n + 0.5f); (void)v;
      return (_Float16)(double)h != h; }" HONE_HAS_FLOAT16)
  if(HONE_HAS_FLOAT16)
    set(HONE_HALF HONE_FLOAT16)
  endif()
endif()

if(HONE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "libFuzzer comes with clang: see \"Fuzzing\" in CONTRIBUTING.md")
  endif()
  target_compile_options(hone_flags INTERFACE -O1 -g -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(hone_flags INTERFACE -fsanitize=address,undefined)
elseif(HONE_SANITIZE)
  # Undefined behaviour traps, and AddressSanitizer prints where (handle_sigill=1). With messages of
  # its own each check has a record: 14 MB of them made a program three times as large and a start
  # half as long again, most of it the search for leaks, which reads them all. A trap needs no
  # library, whose 6 MB of tables that search would read as well.
  target_compile_options(hone_flags INTERFACE -O1 ${HONE_DEBUG_INFO} -fsanitize=address,undefined
    -fsanitize-undefined-trap-on-error -fno-omit-frame-pointer)
  target_link_options(hone_flags INTERFACE -fsanitize=address)
  # The sanitizers' records of globals have addresses, which a program that may lie anywhere puts
  # right at every start.
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(hone_flags INTERFACE -no-pie)
    # There are two hundred programs to link; gold, which comes with GNU's linker, needs half the
    # time.
    include(CheckLinkerFlag)
    check_linker_flag(C -fuse-ld=gold HONE_HAS_GOLD)
    if(HONE_HAS_GOLD)
      target_link_options(hone_flags INTERFACE -fuse-ld=gold)
    endif()
  endif()
elseif(HONE_COVERAGE)
  target_compile_options(hone_flags INTERFACE -O0 -g --coverage)
  target_compile_definitions(hone_flags INTERFACE HONE_COVERAGE_FOLDER="${CMAKE_BINARY_DIR}")
  target_link_options(hone_flags INTERFACE --coverage)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # At -O3 gcc 12 takes values that a function sets only when it returns true for uninitialised; the
  # sanitised build keeps the warning, and the sanitizers look at run time.
  target_compile_options(hone_flags INTERFACE -Wno-maybe-uninitialized)
  target_compile_definitions(hone_flags INTERFACE _FORTIFY_SOURCE=2)
  if(NOT HONE_PORTABLE)
    target_compile_options(hone_flags INTERFACE -march=native)
    # Tables of texts are fourteen thousand addresses, put right at every start. Packed they are two
    # kilobytes to read instead of 340. C libraries before glibc 2.36 do not start such a program,
    # which is why one is started.
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
    check_c_source_runs("static int a; int *volatile b = &a; int main(void) { return *b; }"
      HONE_HAS_RELR)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(HONE_HAS_RELR)
      target_link_options(hone_flags INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endif()
