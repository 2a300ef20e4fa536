import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Principal } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import styles from './people.module.css';

/** Disabled agents, with a button to enable them. */
export function Disabled({ agents }: { readonly agents: readonly Principal[] }) {
  if (agents.length === 0) return null;
  return (
    <details className="card">
      <summary>
        {agents.length} disabled {agents.length === 1 ? 'agent' : 'agents'}
      </summary>
      <ul className={styles.idle}>
        {agents.map((agent) => (
          <DisabledAgent key={agent.id} agent={agent} />
        ))}
      </ul>
    </details>
  );
}

function DisabledAgent({ agent: { id, displayName, updatedAt } }: { readonly agent: Principal }) {
  const queries = useQueryClient();
  const mayEnable = useQuery(meQuery).data?.permissions.includes('principals.write') ?? false;
  const enable = useMutation({
    mutationFn: () => baton.principals.enable(id),
    onSettled: () => {
      for (const key of ['principals', 'people']) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <li className={styles.top}>
      <span className="text">
        {displayName}{' '}
        <span className="soft">
          updated <Moment at={updatedAt} />
        </span>
      </span>
      {mayEnable && (
        <button
          type="button"
          aria-label={`Enable ${displayName}`}
          disabled={enable.isPending}
          onClick={() => enable.mutate()}
        >
          Enable
        </button>
      )}
      {enable.isError && <ErrorNote error={enable.error} />}
    </li>
  );
}
