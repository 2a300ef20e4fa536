import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import styles from './task.module.css';

/** Everything that stands between the task and whoever would take it, with the call that removes it. */
export function WhyNot({ task }: { task: Task }) {
  const isOver = task.systemStatusCategory.startsWith('terminal');
  const { data } = useQuery({
    queryKey: ['tasks', 'claimability', task.id, task.version],
    queryFn: ({ signal }) => baton.tasks.getClaimability(task.id, { signal }),
    enabled: !isOver,
  });
  if (isOver || data === undefined) return null;
  return (
    <section className="card stack" aria-labelledby="why">
      <h2 id="why">{data.claimable ? 'Ready to be taken' : 'Why is this not moving?'}</h2>
      {data.claimable && <p className="soft">Whoever may work on it can claim it now.</p>}
      <ul className="stack">
        {data.reasons.map(({ code, since, remedies }) => (
          <li key={code} className="stack">
            <p>
              {code.replaceAll('_', ' ')}
              {since !== null && (
                <span className="soft">
                  {' '}
                  <Moment at={since} />
                </span>
              )}
            </p>
            {remedies.map(({ act, method, path, permission, allowed }) => (
              <p key={`${method} ${path}`} className={`soft ${styles.remedy}`}>
                {act.replaceAll('_', ' ')}: <code className="mono">{`${method} ${path}`}</code>
                {!allowed && ` (needs ${permission})`}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
