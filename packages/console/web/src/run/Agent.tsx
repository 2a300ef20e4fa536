import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Run, revealHidden } from '@baton/sdk';
import { baton } from '../client.ts';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Prose } from '../parts/Prose.tsx';
import { Who } from '../parts/Who.tsx';
import { meQuery } from '../queries.ts';
import styles from './run.module.css';

const agentsMax = 200;
const revisionsMax = 100;
const instructionCharactersMax = 50_000;

/** The agent that executed the run, with its revision and its instructions. */
export function Agent({ run }: { readonly run: Run }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="card stack" aria-labelledby="agent">
      <h2 id="agent">Executed by</h2>
      <p>
        <Who id={run.principalId} /> <Revision run={run} />
      </p>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className={styles.summary}>Instructions</summary>
        {isOpen && <Instructions run={run} />}
      </details>
      {run.instructionsHash !== null && (
        <p className={`soft mono ${styles.hash}`} title="Hash of the instructions">
          {run.instructionsHash}
        </p>
      )}
    </section>
  );
}

/** The revision of the registered agent, by its number. */
function Revision({ run: { agentRevisionId, principalId } }: { readonly run: Run }) {
  const mayRead = useQuery(meQuery).data?.permissions.includes('agents.read') ?? false;
  const { data } = useQuery({
    queryKey: ['agents', 'revision', agentRevisionId],
    queryFn: async ({ signal }) => {
      const { items: agents } = await baton.agents.list({ limit: agentsMax }, { signal });
      const agent = agents.find((one) => one.principalId === principalId);
      if (agent === undefined) return null;
      const { items } = await baton.agents.listRevisions(agent.key, { limit: revisionsMax }, { signal });
      return items.find(({ id }) => id === agentRevisionId) ?? null;
    },
    enabled: mayRead && agentRevisionId !== null,
    // A revision never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (agentRevisionId === null) return null;
  return data == null ? (
    <span className="soft">
      revision <span className="mono">{agentRevisionId.slice(-8)}</span>
    </span>
  ) : (
    <span className="soft">
      revision {data.revision} of {data.spec.displayName}
      {!data.active && ' (no longer active)'}
    </span>
  );
}

/** The layers of the instructions, in the order in which the agent received them. */
function Instructions({ run }: { readonly run: Run }) {
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['run-instructions', run.id],
    queryFn: ({ signal }) =>
      baton.runs.getContext(run.id, { signal }).then(({ instructions }) => instructions.layers),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (isPending) return <Loading />;
  if (data.length === 0)
    return <p className="soft">Baton provided no instructions. The harness may have its own.</p>;
  return (
    <ol className="stack">
      {data.map(({ source, ref, version, text }) => (
        <li key={source + ref} className="stack">
          <p className="soft">
            {source === 'taskType' ? 'Task type' : source} <span className="mono">{ref}</span>, version{' '}
            {version}
          </p>
          <Prose text={revealHidden(text.slice(0, instructionCharactersMax))} />
        </li>
      ))}
    </ol>
  );
}
