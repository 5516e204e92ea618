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

const userData = (token: string) => `{"hawser": {"token": "${token}"}}`
const comment = (token: string) => `# hawser-token: ${token}`

const kinds = { shell: 'Shell', 'cloud-init': 'cloud-init', 'user-data': 'User data, read by the agent itself' }
type Kind = keyof typeof kinds
const lines: Record<Kind, (token: string) => string> = { shell, 'cloud-init': cloudInit, 'user-data': userData }
const where: Record<Kind, string> = {
  shell: 'As root on the machine, with Hawser’s gateway part installed.',
  'cloud-init': 'User data of a machine whose image has Hawser’s gateway part installed.',
  'user-data': 'The whole user data of a machine whose image has Hawser’s gateway part installed and its services enabled; the agent reads it from the metadata service of AWS, Azure, GCP or OCI.',
}

/** What to do with a token on the machine, ready to copy. */
export function TokenLines({ token, name }: { token: string | null; name: string }) {
  const [kind, setKind] = useState<Kind>('shell')
  if (!token) return <p>This token was shown before and is not shown again. Make another one for {name} under Enrolment.</p>
  return (
    <div class="stack-s">
      <div class="seg" role="group" aria-label="How the machine gets the token">
        {(Object.keys(kinds) as Kind[]).map((k) => <button key={k} type="button" aria-pressed={kind === k} onClick={() => setKind(k)}>{kinds[k]}</button>)}
      </div>
      <Copy label={`${kind} lines for ${name}`} text={lines[kind](token)} />
      {kind === 'user-data' && <>
        <p>Or, in user data that is there already, this as the second line of its cloud-config or script. Azure needs <code>--user-data</code>, not <code>--custom-data</code>.</p>
        <Copy label={`user data comment for ${name}`} text={comment(token)} />
      </>}
      <p class="muted">{where[kind]} The README says how that is installed. A machine with several interfaces needs the names of two in <code>/etc/hawser/agent.json</code> first: <code>site_interface</code> and <code>underlay_interface</code>. The token is shown this once; the controller keeps only its hash.</p>
    </div>
  )
}
