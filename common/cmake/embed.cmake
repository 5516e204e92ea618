# hawser_embed(TARGET SYMBOL FILE): compiles FILE into TARGET as
#   extern const unsigned char SYMBOL[]; extern const size_t SYMBOL_size;
# by the assembler's .incbin, so that large files cost no compile time.
function(hawser_embed target symbol file)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.c)
  file(WRITE ${out}.tmp
"extern const unsigned char ${symbol}[];
__asm__(\".section .rodata\\n\"
        \".balign 16\\n.globl ${symbol}\\n${symbol}:\\n.incbin \\\"${file}\\\"\\n\"
        \"${symbol}_end:\\n.byte 0\\n\"
        \".balign 8\\n.globl ${symbol}_size\\n${symbol}_size:\\n.quad ${symbol}_end - ${symbol}\\n\"
        \".previous\\n\");
")
  configure_file(${out}.tmp ${out} COPYONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${out})
endfunction()
