/** Light or dark: the system's, unless the user chose one. */
const key = 'hawser.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
export const themeChanged = new Set<() => void>()

function stored(): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

export const theme = () => document.documentElement.dataset.theme as 'light' | 'dark'

export function applyTheme() {
  document.documentElement.dataset.theme = stored() ?? (system.matches ? 'dark' : 'light')
  for (const f of themeChanged) f()
}

export function toggleTheme() {
  const next = theme() === 'dark' ? 'light' : 'dark'
  try {
    if ((next === 'dark') === system.matches) localStorage.removeItem(key)
    else localStorage.setItem(key, next)
  } catch { /* kept for this page alone */ }
  document.documentElement.dataset.theme = next
  for (const f of themeChanged) f()
}

system.addEventListener('change', applyTheme)

/** A token's value now, for what is drawn on a canvas. */
export const token = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
