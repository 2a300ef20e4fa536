import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Principal } from '@baton/sdk';
import { meQuery } from '../queries.ts';
import { agentsMax } from './activity.ts';
import { Disable } from './Disable.tsx';
import styles from './people.module.css';

/** Agents that may act, and have no session now. @param isCut whether there are older agents that nobody looked at */
export function Idle({ agents, isCut }: { agents: readonly Principal[]; isCut: boolean }) {
  const mayDisable = useQuery(meQuery).data?.permissions.includes('principals.write') ?? false;
  const [asked, setAsked] = useState<string>();
  if (agents.length === 0) return null;
  return (
    <details className="card">
      <summary>
        {agents.length} {agents.length === 1 ? 'agent is' : 'agents are'} not at work
      </summary>
      <ul className={styles.idle}>
        {agents.map(({ id, displayName }) => (
          <li key={id} className={styles.top}>
            <span className="text">{displayName}</span>
            {mayDisable && (
              <button type="button" aria-label={`Disable ${displayName}`} onClick={() => setAsked(id)}>
                Disable
              </button>
            )}
          </li>
        ))}
      </ul>
      {isCut && <p className="soft">Of all agents the newest {agentsMax} are looked at.</p>}
      {asked !== undefined && (
        <Disable
          activity={{ principalId: asked, sessions: [], held: [] }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </details>
  );
}
