# hawser_unit_test(NAME SOURCES … LIBS …): one CUnit program per module, known to CTest with label "unit".
# The program exits non-zero when an assertion failed and prints one closing line per suite.
function(hawser_unit_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE hawser_options ${T_LIBS} cunit)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120)
endfunction()
