import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

/** NAME.gz beside each file that gets smaller: the controller sends it to who takes it. */
function packed(): Plugin {
  const pack = (folder: string) => {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      if (statSync(path).isDirectory()) pack(path)
      else {
        const plain = readFileSync(path)
        const small = gzipSync(plain, { level: 9 })
        if (small.length < plain.length * 0.9) writeFileSync(`${path}.gz`, small)
      }
    }
  }
  return { name: 'packed', apply: 'build', closeBundle: () => pack('dist') }
}

// Nothing inline: the controller's content security policy forbids it.
export default defineConfig({
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2021',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
  },
  plugins: [packed()],
})
