/** Numbers as people read them. */
const scales = ['', 'k', 'M', 'G', 'T']

function scaled(v: number, unit: string): string {
  let i = 0
  let x = Math.abs(v)
  while (x >= 1000 && i < scales.length - 1) {
    x /= 1000
    i++
  }
  return `${v < 0 ? '−' : ''}${digits(x, i)} ${scales[i]}${unit}`
}

const digits = (x: number, scale: number) => (scale === 0 ? String(Math.round(x)) : x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2))

export const rate = (bps: number | null | undefined) => (bps == null ? '–' : scaled(bps, 'bit/s'))
export const packets = (pps: number | null | undefined) => (pps == null ? '–' : scaled(pps, '/s'))
export const bytes = (b: number | null | undefined) => (b == null ? '–' : scaled(b, 'B'))
export const ms = (v: number | null | undefined) => (v == null ? '–' : v >= 100 ? `${v.toFixed(0)} ms` : v >= 10 ? `${v.toFixed(1)} ms` : `${v.toFixed(2)} ms`)
export const percent = (ratio: number | null | undefined) => (ratio == null ? '–' : ratio > 0 && ratio < 0.0001 ? '<0.01 %' : `${(ratio * 100).toFixed(ratio < 0.1 ? 2 : 0)} %`)
export const count = (n: number | null | undefined) => (n == null ? '–' : n.toLocaleString('en-US').replaceAll(',', ' '))

/** For table columns whose header names the unit. */
export const mbps = (bps: number | null | undefined) => (bps == null ? '–' : (bps / 1e6).toFixed(bps > 0 && bps < 1e7 ? 2 : 0).replace(/\B(?=(\d{3})+(?!\d))/g, ' '))

export function age(seconds: number): string {
  const s = Math.max(0, Math.round(seconds))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`
  return `${Math.floor(s / 86400)} d`
}

/** 2026-11-30 21:00:05, in this machine's zone. */
export function time(iso: string | null | undefined): string {
  if (!iso) return 'never'
  const d = new Date(iso)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}
