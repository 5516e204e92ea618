import { useState } from 'preact/hooks'
import { Copy } from './messages'

const shell = (token: string) => `install -m 600 -o hawser-agent /dev/stdin /etc/hawser/token <<'END'
${token}
END
systemctl enable --now hawser-dataplane hawser-agent
hawser-agent status`

const cloudInit = (token: string) => `#cloud-config
write_files:
  - path: /etc/hawser/token
    owner: hawser-agent:hawser
    permissions: '0600'
    defer: true
    content: ${token}
runcmd:
  - [systemctl, enable, --now, hawser-dataplane, hawser-agent]`

/** What to do with a token on the machine, ready to copy. */
export function TokenLines({ token, name }: { token: string | null; name: string }) {
  const [kind, setKind] = useState<'shell' | 'cloud-init'>('shell')
  if (!token) return <p>This token was shown before and is not shown again. Make another one for {name} under Enrolment.</p>
  return (
    <div class="stack-s">
      <div class="seg" role="group" aria-label="How the machine gets the token">
        {(['shell', 'cloud-init'] as const).map((k) => <button key={k} type="button" aria-pressed={kind === k} onClick={() => setKind(k)}>{k === 'shell' ? 'Shell' : 'cloud-init'}</button>)}
      </div>
      <Copy label={`${kind} lines for ${name}`} text={kind === 'shell' ? shell(token) : cloudInit(token)} />
      <p class="muted">{kind === 'shell' ? 'As root on the machine, with Hawser’s gateway part installed.' : 'User data of a machine whose image has Hawser’s gateway part installed.'} The README says how that is installed. A machine with several interfaces needs the names of two in <code>/etc/hawser/agent.json</code> first: <code>site_interface</code> and <code>underlay_interface</code>. The token is shown this once; the controller keeps only its hash.</p>
    </div>
  )
}
