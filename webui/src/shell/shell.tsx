import type { ComponentChildren } from 'preact'
import { useEffect, useReducer, useRef } from 'preact/hooks'
import { may, signOut } from '../api/client'
import type { WhoAmI } from '../api/types'
import { pages, titleOf } from '../pages'
import { Until } from '../parts/age'
import { RangeControl } from '../parts/range'
import { WeakBanner } from '../parts/weak'
import { StaleBanner, Updated } from './freshness'
import { navigate, useLocation } from './location'
import { Mark } from './mark'
import { Search } from './search'
import { theme, themeChanged, toggleTheme } from './theme'

function ThemeButton() {
  const [, draw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const f = () => draw(undefined as never)
    themeChanged.add(f)
    return () => { themeChanged.delete(f) }
  }, [])
  const other = theme() === 'dark' ? 'light' : 'dark'
  return <button type="button" class="quiet" onClick={toggleTheme} title={`Change to ${other} colours`}>{theme() === 'dark' ? '☾ Dark' : '☀ Light'}</button>
}

function Nav({ path }: { path: string }) {
  const here = (href: string) => (href === '/' ? path === '/' : path === href || path.startsWith(href + '/'))
  return (
    <nav aria-label="Main">
      {pages.filter((p) => p.nav && p.there()).map((p) => (
        <a key={p.path} href={p.path} aria-current={here(p.path) ? 'page' : undefined}>{p.nav}</a>
      ))}
    </nav>
  )
}

/** A key that ends soon ends its user's work with it. */
function KeyBanner({ me }: { me: WhoAmI }) {
  if (me.key_state !== 'expiring' || !me.key_expires_at) return null
  return (
    <div class="banner" role="region" aria-label="Your API key">
      <span>The API key {me.key_name} that you are signed in with ends <Until at={me.key_expires_at} />. {may('POST', '/api-keys') ? <>Make its successor under <a href="/settings">Settings</a>.</> : 'Ask somebody of role admin for its successor.'}</span>
    </div>
  )
}

export function Shell({ me, children, leave }: { me: WhoAmI; children: ComponentChildren; leave: () => void }) {
  const { path } = useLocation()
  const main = useRef<HTMLElement>(null)
  const first = useRef(true)
  useEffect(() => {
    document.title = `${titleOf(path)} – Hawser`
    if (!first.current) main.current?.focus({ preventScroll: true })
    first.current = false
  }, [path])
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus() }}>Skip to the page</a>
      <header class="top">
        <a class="brand" href="/"><Mark />Hawser</a>
        <Search />
        <span class="grow" />
        <RangeControl />
        <Updated />
        <ThemeButton />
        <span class="muted nowrap" title={`Signed in with the token that begins with ${me.token_prefix}`}>{me.role} · {me.key_name ?? <span class="mono">{me.token_prefix}…</span>}</span>
        <button type="button" onClick={async () => {
          try {
            await signOut()
          } finally {
            leave()
            navigate('/sign-in')
          }
        }}>Sign out</button>
      </header>
      <div class="side"><Nav path={path} /></div>
      <div>
        <WeakBanner />
        <KeyBanner me={me} />
        <StaleBanner />
        <main id="main" ref={main} tabIndex={-1}>{children}</main>
      </div>
    </div>
  )
}
