export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#1f5fbf" />
      <g fill="none" stroke="#fff" stroke-width="2.2" stroke-linecap="round"><path d="M6 9c6 0 6 14 12 14" /><path d="M6 16h20" /><path d="M6 23c6 0 6-14 12-14" /></g>
      <circle cx="26" cy="16" r="2.6" fill="#fff" />
    </svg>
  )
}
