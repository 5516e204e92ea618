import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Problem, learnPaths, onSignedOut, whoAmI } from './api/client'
import { forget } from './api/live'
import type { WhoAmI } from './api/types'
import { Page } from './pages'
import { Empty, ProblemBox } from './parts/messages'
import { navigate, useLocation } from './shell/location'
import { setWhoIsHere } from './shell/me'
import { Shell } from './shell/shell'
import { SignIn } from './shell/sign-in'
import { applyTheme } from './shell/theme'
import './style/tokens.css'
import './style/base.css'

applyTheme()

/** Where to go after signing in: a page of ours, whatever the address says. */
function wanted(): string {
  const next = new URLSearchParams(location.search).get('next') ?? '/'
  return /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in') ? next : '/'
}

function toSignIn() {
  if (location.pathname === '/sign-in') return
  const here = location.pathname + location.search
  navigate('/sign-in' + (here === '/' ? '' : `?next=${encodeURIComponent(here)}`), true)
}

function Console() {
  const { path } = useLocation()
  const [me, setMe] = useState<WhoAmI | null>()
  const [problem, setProblem] = useState<Problem>()

  const arrive = async () => {
    const [who] = await Promise.all([whoAmI(), learnPaths()])
    setWhoIsHere(who)
    setMe(who)
    setProblem(undefined)
    if (location.pathname === '/sign-in') navigate(wanted(), true)
  }
  const leave = () => {
    forget()
    setMe(null)
    toSignIn()
  }
  const begin = () => arrive().catch((e) => {
    if (!(e instanceof Problem)) throw e
    if (e.body.status === 401) leave()
    else setProblem(e)
  })
  useEffect(() => {
    onSignedOut(leave)
    begin()
  }, [])

  if (problem && !me) return <main class="sign-in"><div class="stack"><ProblemBox problem={problem} /><button type="button" onClick={begin}>Try again</button></div></main>
  if (me === undefined) return null
  if (me === null || path === '/sign-in') return <SignIn done={arrive} />
  return <Shell me={me} leave={leave}><Page path={path} nothing={<Empty page title="There is no such page" action={{ href: '/', text: 'To the dashboard' }} />} /></Shell>
}

render(<Console />, document.getElementById('root')!)
