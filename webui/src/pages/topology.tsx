import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useFleet, type Fleet } from '../api/fleet'
import { Card, Empty, PageHead, ProblemBox } from '../parts/messages'
import { State } from '../parts/state'
import { Table } from '../parts/table'
import { connectionColumns } from './connections'
import { forgetPlaces } from './topology/layout'

/** Cytoscape is loaded with this page alone. */
function Map({ fleet, reset }: { fleet: Fleet; reset: number }) {
  const [Loaded, setLoaded] = useState<{ C: ComponentType<{ fleet: Fleet; reset: number }> }>()
  useEffect(() => { import('./topology/map').then((m) => setLoaded({ C: m.TopologyMap })) }, [])
  return Loaded ? <Loaded.C fleet={fleet} reset={reset} /> : <div class="map" aria-busy="true" />
}

export function TopologyPage() {
  const fleet = useFleet()
  const [reset, setReset] = useState(0)
  if (fleet.data && !fleet.data.sites.length) {
    return <><PageHead title="Topology" /><div class="card"><Empty title="Nothing to show yet" action={{ href: '/create', text: 'Join two sites' }}>Sites, their gateways and the connections between them appear here.</Empty></div></>
  }
  return (
    <>
      <PageHead title="Topology">
        <button type="button" onClick={() => {
          forgetPlaces()
          setReset(reset + 1)
        }}>Reset positions</button>
      </PageHead>
      <div class="stack">
        {!fleet.data && <ProblemBox problem={fleet.problem} />}
        <Card pad={false}>
          {fleet.data ? <Map fleet={fleet.data} reset={reset} /> : <div class="map" aria-busy="true" />}
          <div class="legend">
            <State state="up" /><State state="degraded" /><State state="down" /><State state="unknown" />
            <span>A line is a connection{fleet.data?.topology ? ', its width the rate' : ''}; click it for its link, drag boxes to arrange</span>
          </div>
        </Card>
        {fleet.data && <Table prefix="c-" name="connections" rows={fleet.data.connections} columns={connectionColumns(!!fleet.data.topology)} rowKey={(c) => c.connection.id} sort="name" empty={<Empty title="No connection yet" action={{ href: '/create', text: 'Connect two sites' }} />} />}
      </div>
    </>
  )
}
