import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Principal } from '@baton/sdk';
import { meQuery } from '../queries.ts';
import { agentsMax } from './activity.ts';
import { Disable } from './Disable.tsx';
import styles from './people.module.css';

/** Active agents without a session. @param isCut whether older agents exist that were not read */
export function Idle({ agents, isCut }: { agents: readonly Principal[]; isCut: boolean }) {
  const mayDisable = useQuery(meQuery).data?.permissions.includes('principals.write') ?? false;
  const [confirmed, setConfirmed] = useState<string>();
  if (agents.length === 0) return null;
  return (
    <details className="card">
      <summary>
        {agents.length} idle {agents.length === 1 ? 'agent' : 'agents'}
      </summary>
      <ul className={styles.idle}>
        {agents.map(({ id, displayName }) => (
          <li key={id} className={styles.top}>
            <span className="text">{displayName}</span>
            {mayDisable && (
              <button type="button" aria-label={`Disable ${displayName}`} onClick={() => setConfirmed(id)}>
                Disable
              </button>
            )}
          </li>
        ))}
      </ul>
      {isCut && <p className="soft">Only the newest {agentsMax} agents are included.</p>}
      {confirmed !== undefined && (
        <Disable
          activity={{ principalId: confirmed, sessions: [], held: [] }}
          onClose={() => setConfirmed(undefined)}
        />
      )}
    </details>
  );
}
