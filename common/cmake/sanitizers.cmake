# HAWSER_SANITIZE goes to every target: a program mixing instrumented and plain objects reports falsely.
if(HAWSER_SANITIZE)
  target_compile_options(hawser_options INTERFACE -fsanitize=${HAWSER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hawser_options INTERFACE -fsanitize=${HAWSER_SANITIZE})
  # gcc's thread instrumentation hides bounds checks from the optimiser's own warnings, which are then false. They are
  # shown and do not end this build; every other build keeps them as errors.
  if(HAWSER_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(hawser_options INTERFACE -Wno-error)
  endif()
endif()
