# HAWSER_SANITIZE goes to every target: a program mixing instrumented and plain objects reports falsely.
if(HAWSER_SANITIZE)
  target_compile_options(hawser_options INTERFACE -fsanitize=${HAWSER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(hawser_options INTERFACE -fsanitize=${HAWSER_SANITIZE})
endif()
