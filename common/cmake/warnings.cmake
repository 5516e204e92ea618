# hawser_options: the one interface target that carries language level, warnings and hardening.
# Every target of the project links it; nothing is set globally.
add_library(hawser_options INTERFACE)
target_compile_options(hawser_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wformat=2 -Werror
  -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef -Wvla
  # Overflow in signed arithmetic is checked before it happens; should one slip through it must not be optimised on.
  -fno-strict-overflow
  -fno-strict-aliasing
  -fstack-protector-strong
  -fPIE)
target_compile_definitions(hawser_options INTERFACE _GNU_SOURCE HAWSER_VERSION="${PROJECT_VERSION}")
target_include_directories(hawser_options INTERFACE ${CMAKE_SOURCE_DIR})
target_link_options(hawser_options INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
# _FORTIFY_SOURCE needs optimisation and gets in the sanitizers' way.
if(NOT HAWSER_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(hawser_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hawser_options INTERFACE -fstack-clash-protection)
endif()
